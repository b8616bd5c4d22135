/** The dialects that a server offers: recognised by the request, or pinned to paths. */
import type { Dialect } from '../dialects/dialect.js'
import { chosenDialects, createDialects, type DialectChoice, type DialectOptions } from '../dialects/servers.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { reserved } from './mounts.js'

export interface OfferedDialects {
  /** Dialects that are recognised by the request, newest first. */
  readonly recognised: readonly Dialect[]
  /** Dialects that are pinned to a path, by path. */
  readonly pinned: ReadonlyMap<string, Dialect>
}

export function offeredDialects(choice?: DialectChoice, options: DialectOptions = {}): OfferedDialects {
  const known = createDialects(options)
  const recognised = new Set<Dialect>()
  const pinned = new Map<string, Dialect>()
  for (const { dialect, path } of chosenDialects(choice, known)) {
    const at = path === undefined ? dialect.defaultPath : pathOf(path, dialect)
    if (at === undefined) recognised.add(dialect)
    else if (pinned.has(at)) throw new TypeError(`Two dialects are pinned to ${at}: give one of them another path`)
    else pinned.set(at, dialect)
  }
  if (recognised.size + pinned.size === 0) throw new TypeError('`dialects` is empty: name at least one')
  assertDistinct([...recognised])
  // Recognition prefers newer dialects, so the order of this package counts, then that of the user's own ones.
  const own = [...recognised].filter((dialect) => !known.includes(dialect))
  return { recognised: [...known.filter((dialect) => recognised.has(dialect)), ...own], pinned }
}

/** Throws for dialects with the same methods at one address: requests would not distinguish them. */
function assertDistinct(recognised: readonly Dialect[]): void {
  const methodsOf = ({ jsonrpc }: Dialect) => (jsonrpc && !jsonrpc.paths ? [...jsonrpc.methods.keys()].join() : '')
  const seen = new Map<string, Dialect>()
  for (const dialect of recognised) {
    const methods = methodsOf(dialect)
    const other = methods === '' ? undefined : seen.get(methods)
    if (other)
      throw new TypeError(
        `${other.name} and ${dialect.name} have the same methods: give one of them another path than /`,
      )
    seen.set(methods, dialect)
  }
}

/** Returns undefined for the agent's own address. Dialects with fixed paths have no other address there. */
function pathOf(path: string, { jsonrpc }: Dialect): string | undefined {
  if (path === '/' && jsonrpc && !jsonrpc.paths) return undefined
  const trimmed = withoutTrailingSlashes(path)
  const [, first = ''] = trimmed.split('/')
  if (reserved.has(first))
    throw new TypeError(`A dialect cannot be pinned to ${path}: /${first} is reserved; choose another path`)
  if (/^\/[^/]/.test(trimmed)) return trimmed
  throw new TypeError(`A dialect cannot be pinned to ${JSON.stringify(path)}: write a path such as /legacy`)
}
