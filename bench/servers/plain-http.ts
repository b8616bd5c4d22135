/**
 * Dragoman's handler on a plain `node:http` server: the same as `dragoman serve --echo`, without the listener that
 * reads the first bytes of every connection.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHandler, toNodeListener } from 'dragoman/server'
import { echoAgent } from 'dragoman/testing'

const handler = await createHandler(echoAgent)
const server = createServer(toNodeListener(handler))
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo // it listens on TCP
  console.log(`Listening on http://127.0.0.1:${port}`)
})
