import { isObject } from '../model/is-object.js'
import { chatRpc } from './chat-rpc/index.js'
import { assertDialect, assertDistinctNames, type Dialect, type DialectName, dialectNamed } from './dialect.js'
import { createInvoke, type InvokeOptions } from './invoke/index.js'
import { taskRest } from './task-rest/index.js'
import { v0_1, v0_1Go } from './v0_1/index.js'
import { v0_3 } from './v0_3/index.js'
import { createV1, type V1Options, v1 } from './v1/index.js'

export { type QuestionStatus, questionStatuses } from './invoke/tasks.js'
export { type ErrorProfile, errorProfiles } from './v1/errors.js'

/** Options of single dialects. */
export interface DialectOptions extends V1Options, InvokeOptions {}

/** The server's side of every dialect of this package, newest first. */
export function createDialects(options: DialectOptions = {}): readonly Dialect[] {
  return [createV1(options), v0_3, v0_1, v0_1Go, taskRest, createInvoke(options), chatRpc]
}

/** The server's side of every dialect of this package with default options, newest first. */
export const serverDialects: readonly Dialect[] = createDialects()

/** The dialects of this package and dialects of the user, by name. */
export function dialectsByName(own: readonly Dialect[] = []): ReadonlyMap<string, Dialect> {
  return new Map([...serverDialects, ...own].map((each) => [each.name, each]))
}

/** The newest dialect. Errors about requests whose dialect is unknown are written in it. */
export const newestDialect: Dialect = v1

/** The dialect that a user names by its name or by a version: `v1`, `1.0`, `0.2`. */
export function findDialect(given: string, dialects: readonly Dialect[] = serverDialects): Dialect | undefined {
  return dialectNamed(given, dialects)
}

/** A dialect at a path below the agent's, at which no other dialect is served. */
export interface PinnedDialect {
  /** The name of a dialect, or a dialect of your own. */
  readonly dialect: DialectName | Dialect
  /** A path such as `/legacy`. At `/`, the agent's own address, the method of a call selects the dialect. */
  readonly path: string
}

/** Names and dialects of your own, pinned or not. `all`: every dialect of this package. */
export type DialectChoice = 'all' | readonly (DialectName | Dialect | PinnedDialect)[]

/** The dialects that the option `dialects` names, with their paths. Default: those that are on by default. */
export function chosenDialects(
  choice: DialectChoice | undefined,
  known: readonly Dialect[] = serverDialects,
): readonly { readonly dialect: Dialect; readonly path?: string }[] {
  if (choice === undefined) return known.filter(({ isDefault }) => isDefault).map((dialect) => ({ dialect }))
  if (choice === 'all') return known.map((dialect) => ({ dialect }))
  const chosen = choice.map((each) => {
    if (typeof each === 'string') return { dialect: find(each, known) }
    if (!isPinned(each)) return { dialect: asOwn(each, known) }
    const { dialect, path } = each
    return { dialect: typeof dialect === 'string' ? find(dialect, known) : asOwn(dialect, known), path }
  })
  assertDistinctNames(chosen.map(({ dialect }) => dialect))
  return chosen
}

function isPinned(each: Dialect | PinnedDialect): each is PinnedDialect {
  return isObject(each) && 'dialect' in each
}

function find(name: string, known: readonly Dialect[]): Dialect {
  const dialect = known.find((each) => each.name === name)
  if (dialect) return dialect
  const names = known.map((each) => each.name).join(', ')
  throw new TypeError(`There is no dialect ${name}: choose from ${names}`)
}

function asOwn(dialect: Dialect, known: readonly Dialect[]): Dialect {
  assertDialect(dialect, 'server')
  if (known.some(({ name }) => name === dialect.name))
    throw new TypeError(`A dialect is called ${dialect.name} already: give yours another name`)
  return dialect
}
