/** The path below which everything is served, and which mounts and proxies may or may not have removed. */

export interface BasePathOptions {
  readonly basePath?: string
}

/** The path below the base; undefined outside of it. */
export type StripBase = (path: string) => string | undefined

/**
 * Removes `basePath`, outside of which there is nothing. Without it, removes the path of `url` where a request has it:
 * frameworks and proxies may have removed it already.
 */
export function createStripBase({ basePath }: BasePathOptions, url: string): StripBase {
  const base = basePath === undefined ? new URL(url).pathname.replace(/\/$/, '') : settleBasePath(basePath)
  if (base === '') return (path) => path
  return (path) => {
    if (path === base) return '/'
    if (path.startsWith(`${base}/`)) return path.slice(base.length)
    return basePath === undefined ? path : undefined
  }
}

/** With a slash before it and none behind it; empty for the root. */
export function settleBasePath(basePath = ''): string {
  const isPath = typeof basePath === 'string' && /^(\/[^/?#\s]+)*\/?$/.test(basePath)
  if (!isPath) throw new TypeError(`\`basePath\` must be a path such as '/api/a2a'; got ${JSON.stringify(basePath)}`)
  return new URL(basePath, 'http://localhost').pathname.replace(/\/$/, '')
}
