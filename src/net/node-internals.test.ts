/** Each test fails when Node.js changes a member that `node-internals.ts` uses. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { until } from '../testing/index.js'
import { startTimeoutChecks, unsentBytes } from './node-internals.js'

describe('members that are not documented', () => {
  it('unsentBytes counts the rest of a write that the operating system has taken in part', async () => {
    await using pair = await connectedPair()
    const size = 64 * 1024 * 1024
    pair.client.pause()
    pair.server.write(Buffer.alloc(size))
    await until(() => unsentBytes(pair.server) < size)
    expect(unsentBytes(pair.server)).toBeGreaterThan(0)
    expect(pair.server.writableLength).toBe(size)
  })

  it('startTimeoutChecks lets a server that does not listen end requests that are too slow', async () => {
    await using pair = await connectedPair()
    const http = createHttpServer({ headersTimeout: 20, requestTimeout: 20, connectionsCheckingInterval: 10 })
    startTimeoutChecks(http)
    http.emit('connection', pair.server)
    pair.client.write('GET / HTTP/1.1\r\nhost: a\r\n')
    expect(await text(pair.client)).toMatch(/^HTTP\/1\.1 408 /)
    http.close()
  })
})

interface Pair extends AsyncDisposable {
  readonly server: Socket
  readonly client: Socket
}

async function connectedPair(): Promise<Pair> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1')
  const [server] = (await once(listener, 'connection')) as [Socket]
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      server.destroy()
      client.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}
