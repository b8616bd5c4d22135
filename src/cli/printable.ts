/**
 * What strangers say is data: on a terminal it must not move the cursor, set the clipboard or turn the
 * direction of reading around.
 */

/** Without control characters, line ends and tabs aside, and without marks that reorder what is read. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '')
}

/** The same in one line, for names and sentences. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ')).trim()
}

/** JSON in which everything is spelled out that a terminal would obey: JSON itself does so for some of it only. */
export function printableJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A number of bytes as people say it. */
export function byteSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** A URL with `…` in place of its user info and its query. */
export function withoutSecrets(url: string): string {
  const start = url.indexOf('//') + 2
  const authority = start < 2 ? '' : (/^[^/?#]*/.exec(url.slice(start))?.[0] ?? '')
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const shown =
    host === authority ? url : `${url.slice(0, start)}…@${url.slice(start + authority.length - host.length)}`
  return shown.replace(/\?[^#]*/, '?…')
}

/** A word as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Columns as wide as their widest entry; the last is left as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [place, cell] of row.entries()) widths[place] = Math.max(widths[place] ?? 0, cell.length)
  const lines = rows.map((row) =>
    row
      .map((cell, place) => cell.padEnd(widths[place] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}
