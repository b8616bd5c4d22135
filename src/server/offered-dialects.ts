/** The dialects that a server offers: recognised by the request, or pinned to paths. */
import type { Dialect } from '../dialects/dialect.js'
import { createRouter } from '../dialects/rest-route.js'
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
  for (const { dialect, path = dialect.defaultPath } of chosenDialects(choice, known)) {
    const at = path === undefined ? undefined : pathOf(path, dialect)
    if (at === undefined) recognised.add(dialect)
    else if (pinned.has(at)) throw new TypeError(`Two dialects are pinned to ${at}: give one of them another path`)
    else pinned.set(at, dialect)
  }
  if (recognised.size + pinned.size === 0) throw new TypeError('`dialects` is empty: name at least one')
  assertDistinct([...recognised])
  // Recognition prefers newer dialects, so the order of this package counts, then that of the user's own ones.
  const own = [...recognised].filter((dialect) => !known.includes(dialect))
  for (const dialect of own) {
    for (const other of recognised) if (other !== dialect) assertSeparate(dialect, other)
    assertReachable(dialect, pinned)
  }
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

/** Throws if a dialect of the user would take calls of another one: by a version, a path, or a method at one address. */
function assertSeparate(own: Dialect, other: Dialect): void {
  const advice = `pin ${own.name} to a path: { dialect: …, path: '/${own.name}' }`
  const version = own.versions.find((each) => other.versions.includes(each))
  if (version !== undefined)
    throw new TypeError(`${own.name} and ${other.name} have the same version ${version}: ${advice}`)
  const route = sharedRoute(own, other) ?? sharedRoute(other, own)
  if (route !== undefined) throw new TypeError(`${own.name} and ${other.name} have the same path ${route}: ${advice}`)
  const otherPaths = rpcPathsOf(other)
  if (!rpcPathsOf(own).some((path) => otherPaths.includes(path))) return
  const methods = [...(own.jsonrpc?.methods.keys() ?? [])]
  const method = methods.find((each) => other.jsonrpc?.methods.has(each))
  if (method !== undefined)
    throw new TypeError(`${own.name} and ${other.name} have the same method ${method}: ${advice}`)
}

function rpcPathsOf({ jsonrpc }: Dialect): readonly string[] {
  return jsonrpc ? (jsonrpc.paths ?? ['']).map(withoutTrailingSlashes) : []
}

/** The paths of a dialect that is not pinned, with their methods. Parameters have a value: `GET /tasks/id`. */
function pathsOf(dialect: Dialect): readonly (readonly [method: string, path: string])[] {
  const routes = (dialect.rest?.routes ?? []).map(
    ({ method, path }) => [method, path.replace(/\{(\w+)\}/g, '$1')] as const,
  )
  return [...rpcPathsOf(dialect).map((path) => ['POST', path] as const), ...routes]
}

/** The method and the path of one dialect that the other one's HTTP+JSON form serves too. */
function sharedRoute(dialect: Dialect, { rest }: Dialect): string | undefined {
  const find = createRouter(rest?.routes ?? [])
  return pathsOf(dialect)
    .find(([method, path]) => find(method, path))
    ?.join(' ')
}

/** Throws for a path of the user's dialect at or below a pinned path, where the pinned dialect takes all requests. */
function assertReachable(own: Dialect, pinned: OfferedDialects['pinned']): void {
  for (const [pin, other] of pinned) {
    const [method, path] = pathsOf(own).find(([, each]) => `${each}/`.startsWith(`${pin}/`)) ?? []
    if (path !== undefined)
      throw new TypeError(
        `${own.name} has the path ${method} ${path}, and ${other.name} is pinned to ${pin}: give ${other.name} another path`,
      )
  }
}

/** Returns undefined for the agent's own address. Dialects with fixed paths have no other address there. */
function pathOf(path: string, { jsonrpc }: Dialect): string | undefined {
  if (typeof path !== 'string')
    throw new TypeError('The `path` of a dialect must be a string: write a path such as /legacy')
  if (path === '/' && jsonrpc && !jsonrpc.paths) return undefined
  const trimmed = withoutTrailingSlashes(path)
  const [, first = ''] = trimmed.split('/')
  if (reserved.has(first))
    throw new TypeError(`A dialect cannot be pinned to ${path}: /${first} is reserved; choose another path`)
  if (/^\/[^/]/.test(trimmed)) return trimmed
  throw new TypeError(`A dialect cannot be pinned to ${JSON.stringify(path)}: write a path such as /legacy`)
}
