import { chatRpcClient } from './chat-rpc/client.js'
import type { ClientDialect } from './client-dialect.js'
import type { DialectName } from './dialect.js'
import { invokeClient } from './invoke/client.js'
import { taskRestClient } from './task-rest/client.js'
import { v0_1Client, v0_1GoClient } from './v0_1/client.js'
import { v0_3Client } from './v0_3/client.js'
import { v1Client } from './v1/client.js'

/** The client's side of every dialect. */
export const clientDialects: Readonly<Record<DialectName, ClientDialect>> = {
  v1: v1Client,
  'v0.3': v0_3Client,
  'v0.1': v0_1Client,
  'v0.1-go': v0_1GoClient,
  'task-rest': taskRestClient,
  invoke: invokeClient,
  'chat-rpc': chatRpcClient,
}
