/** The version of this package; a test compares it with `package.json`. */
export const version = '0.1.0'

/** The name of this software in every request it sends; servers choose the form of files by it (R3-PB-12). */
export const userAgent = `dragoman/${version}`
