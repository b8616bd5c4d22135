/** The path below which the server answers. Frameworks and proxies may have removed it from requests. */
import { withoutTrailingSlashes } from '../model/trim-end.js'

interface BasePathOptions {
  readonly basePath?: string
}

/** Returns the path below the base; undefined outside of it. */
export type StripBase = (path: string) => string | undefined

/** Paths that the server answers, without the base. Segments may be parameters, as in `/tasks/{id}`. */
export interface ServedPaths {
  readonly exact: readonly string[]
  /** Paths that the server answers together with everything below them. */
  readonly trees: readonly string[]
}

/**
 * Removes `basePath`; requests outside of it get "not found". Without `basePath`, removes the path of `url` from
 * requests that have it, because frameworks and proxies may have removed it already. Throws `TypeError` if that path cannot be
 * distinguished from a path in `served`.
 */
export function createStripBase({ basePath }: BasePathOptions, url: string, served: ServedPaths): StripBase {
  const base = basePath === undefined ? withoutTrailingSlashes(new URL(url).pathname) : settleBasePath(basePath)
  if (base === '') return (path) => path
  if (basePath === undefined) assertDistinct(base, served)
  return (path) => {
    if (path === base) return '/'
    if (path.startsWith(`${base}/`)) return path.slice(base.length)
    return basePath === undefined ? path : undefined
  }
}

/** Returns the path with a leading and without a trailing slash; empty for the root. */
export function settleBasePath(basePath = ''): string {
  const isPath = typeof basePath === 'string' && /^(\/[^/?#\s]+)*\/?$/.test(basePath)
  if (!isPath) throw new TypeError(`\`basePath\` must be a path such as '/api/a2a'; got ${JSON.stringify(basePath)}`)
  return withoutTrailingSlashes(new URL(basePath, 'http://localhost').pathname)
}

function assertDistinct(base: string, { exact, trees }: ServedPaths): void {
  const conflict =
    [...trees, ...exact].find((path) => isAtOrBelow(path, base)) ?? trees.find((path) => isAtOrBelow(base, path))
  if (conflict === undefined) return
  throw new TypeError(
    `The path of \`publicUrl\`, ${base}, is ambiguous: the server also answers ${conflict}. Pass \`basePath\`: '${base}' if requests arrive with that path, '/' if a proxy removes it`,
  )
}

function isAtOrBelow(path: string, base: string): boolean {
  const segments = path.split('/')
  return base.split('/').every((segment, place) => segments[place] === segment || segments[place]?.startsWith('{'))
}
