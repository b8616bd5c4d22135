import { chatRpcClient } from './chat-rpc/client.js'
import type { ClientDialect } from './client-dialect.js'
import { invokeClient } from './invoke/client.js'
import { taskRestClient } from './task-rest/client.js'
import { v0_1Client, v0_1GoClient } from './v0_1/client.js'
import { v0_3Client } from './v0_3/client.js'
import { v1Client } from './v1/client.js'

/** The client's side of every dialect of this package, newest first. */
export const clientDialects: readonly ClientDialect[] = [
  v1Client,
  v0_3Client,
  v0_1Client,
  v0_1GoClient,
  taskRestClient,
  invokeClient,
  chatRpcClient,
]
