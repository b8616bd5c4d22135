/**
 * @a2a-js/sdk with its Express integration, configured as in its documentation: JSON-RPC v1.0, no authentication, no
 * push, no older versions. Usage: sdk memory | sqlite:PATH | postgres://…
 */
import type { AddressInfo } from 'node:net'
import { DefaultRequestHandler } from 'a2a-sdk-v1/server'
import { jsonRpcHandler, UserBuilder } from 'a2a-sdk-v1/server/express'
import express from 'express'
import { card, echoAgent } from './sdk-agent.ts'
import { openSdkStore } from './sdk-store.ts'

const requestHandler = new DefaultRequestHandler(card, await openSdkStore(process.argv[2] ?? 'memory'), echoAgent)
const app = express()
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo // it listens on TCP
  console.log(`Listening on http://127.0.0.1:${port}`)
})
// Its slow streams take longer than 5 seconds, Node's default, after which idle connections are reset.
server.keepAliveTimeout = 65_000
