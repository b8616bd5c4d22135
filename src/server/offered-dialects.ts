/** Which dialects a server speaks, and where: on arrival, or at paths of their own. */
import { type Dialect, type DialectName, dialectNames } from '../dialects/dialect.js'
import { createDialects, type DialectOptions } from '../dialects/servers.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { reserved } from './mounts.js'

/** A dialect at a path of its own below the agent's, where nothing else is understood. */
export interface PinnedDialect {
  readonly dialect: DialectName
  /** Such as `/legacy`. `/` is the agent's own address, where the methods of a call tell the dialects apart. */
  readonly path: string
}

/** A list of names, pinned or not; `all` adds the ad-hoc dialects, and the Go profile at `/go`. */
export type DialectChoice = 'all' | readonly (DialectName | PinnedDialect)[]

export interface OfferedDialects {
  /** Told apart on arrival, newest first. */
  readonly recognised: readonly Dialect[]
  /** By path. */
  readonly pinned: ReadonlyMap<string, Dialect>
}

/** The official versions; the ad-hoc dialects take paths that v1.0 has other uses for, so they are asked for. */
const usual: readonly DialectName[] = ['v1', 'v0.3', 'v0.1']

/** Cannot be told from v0.1 on arrival. */
const onlyPinned: Readonly<Partial<Record<DialectName, string>>> = { 'v0.1-go': '/go' }

export function offeredDialects(choice: DialectChoice = usual, options: DialectOptions = {}): OfferedDialects {
  const known = createDialects(options)
  const chosen = choice === 'all' ? dialectNames : choice
  const recognised = new Set<Dialect>()
  const pinned = new Map<string, Dialect>()
  for (const each of chosen) {
    const name = typeof each === 'string' ? each : each.dialect
    const dialect = known[name]
    if (!dialect) throw new TypeError(`There is no dialect ${name}: choose from ${dialectNames.join(', ')}`)
    const path = typeof each === 'string' ? onlyPinned[each] : pathOf(each, dialect)
    if (path === undefined) recognised.add(dialect)
    else if (pinned.has(path)) throw new TypeError(`Two dialects are pinned to ${path}: give one of them another path`)
    else pinned.set(path, dialect)
  }
  if (recognised.size + pinned.size === 0) throw new TypeError('`dialects` is empty: name at least one')
  if (recognised.has(known['v0.1']) && recognised.has(known['v0.1-go']))
    throw new TypeError('v0.1 and v0.1-go have the same methods: give one of them another path than /')
  // Newest first, however they were named: recognition prefers in that order.
  return { recognised: Object.values(known).filter((dialect) => recognised.has(dialect)), pinned }
}

/** Absent at the agent's own address. Dialects with paths of their own have no other address there. */
function pathOf({ path }: PinnedDialect, { jsonrpc }: Dialect): string | undefined {
  if (path === '/' && jsonrpc && !jsonrpc.paths) return undefined
  const trimmed = withoutTrailingSlashes(path)
  const [, first = ''] = trimmed.split('/')
  if (reserved.has(first))
    throw new TypeError(
      `A dialect cannot be pinned to ${path}: /${first} means something to others, choose another path`,
    )
  if (/^\/[^/]/.test(trimmed)) return trimmed
  throw new TypeError(`A dialect cannot be pinned to ${JSON.stringify(path)}: write a path such as /legacy`)
}
