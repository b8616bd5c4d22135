// @a2a-js/sdk behind its own Express integration. Usage: sdk.mjs memory | sqlite:PATH | postgres://…
//
// Configured as its documentation shows it: JSON-RPC v1.0, no authentication, no push, no older
// versions.
import { DefaultRequestHandler } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { card, echoAgent } from './sdk-agent.mjs'
import { openSdkStore } from './sdk-store.mjs'

const requestHandler = new DefaultRequestHandler(card, await openSdkStore(process.argv[2] ?? 'memory'), echoAgent)
const app = express()
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})
// Five seconds, Node's default, are over while its slow streams end, and connections that wait are reset.
server.keepAliveTimeout = 65_000
