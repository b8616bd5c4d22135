import { chatRpcClient } from './chat-rpc/client.js'
import type { ClientDialect } from './client-dialect.js'
import { assertDialect, assertDistinctNames } from './dialect.js'
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

/** Dialects of a client, by name. The order decides between dialects that recognise the same card. */
export type ClientDialects = ReadonlyMap<string, ClientDialect>

const builtIn: ClientDialects = new Map(clientDialects.map((each) => [each.name, each]))

/** The dialects of this package, preceded by dialects of the user. */
export function withClientDialects(own: readonly ClientDialect[] = []): ClientDialects {
  if (!Array.isArray(own)) throw new TypeError('`dialects` must be a list of client dialects: `dialects: [myDialect]`')
  if (own.length === 0) return builtIn
  for (const each of own) assertDialect(each, 'client')
  assertDistinctNames(own)
  const taken = own.find(({ name }) => builtIn.has(name))
  if (taken) throw new TypeError(`A dialect is called ${taken.name} already: give yours another name`)
  return new Map([...own.map((each) => [each.name, each] as const), ...builtIn])
}

/** The newest dialect. Calls to services in the same process use it. */
export const newestClient: ClientDialect = v1Client

/** The version of the newest dialect, which card requests name. */
export const newestVersion: string = v1Client.versions[0] ?? ''
