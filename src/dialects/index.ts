import { chatRpc } from './chat-rpc/index.js'
import type { Dialect, DialectName } from './dialect.js'
import { createInvoke, type InvokeOptions } from './invoke/index.js'
import { taskRest } from './task-rest/index.js'
import { v0_1, v0_1Go } from './v0_1/index.js'
import { v0_3 } from './v0_3/index.js'
import { createV1, type V1Options } from './v1/index.js'

export interface DialectOptions extends V1Options, InvokeOptions {}

/** Every dialect, newest first. */
export function createDialects(options: DialectOptions = {}): Readonly<Record<DialectName, Dialect>> {
  return {
    v1: createV1(options),
    'v0.3': v0_3,
    'v0.1': v0_1,
    'v0.1-go': v0_1Go,
    'task-rest': taskRest,
    invoke: createInvoke(options),
    'chat-rpc': chatRpc,
  }
}
