import { chatRpc } from './chat-rpc/index.js'
import type { Dialect } from './dialect.js'
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

/** The newest dialect. Errors about requests whose dialect is unknown are written in it. */
export const newestDialect: Dialect = v1

/** The dialect that a user names by its name or by a version: `v1`, `1.0`, `0.2`. */
export function findDialect(given: string, dialects: readonly Dialect[] = createDialects()): Dialect | undefined {
  const version = given.replace(/^v(?=\d)/, '')
  return dialects.find(({ name }) => name === given) ?? dialects.find(({ versions }) => versions.includes(version))
}
