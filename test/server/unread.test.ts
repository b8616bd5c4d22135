/** Readers that ask and do not read. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { agent, serve } from 'dragoman'
import { toNodeListener } from 'dragoman/server'
import { describe, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'

const talker = agent('Talker', async function* () {
  yield 'x'.repeat(8 * 1024 * 1024)
})

const request = (body: string) =>
  `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const send = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
})

async function deaf(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.pause()
  return socket
}

describe('a reader that reads nothing', () => {
  it('is hung up on, and one that reads slowly is not', async () => {
    await using served = await serve(talker, { deadlines: { readMs: 200 } })
    const { port } = new URL(served.url)
    const silent = await deaf(Number(port))
    silent.write(request(send))
    let isClosed = false
    silent.on('close', () => {
      isClosed = true
    })
    const slow = await deaf(Number(port))
    let read = 0
    slow.write(request(send))
    slow.on('data', (chunk: Buffer) => {
      read += chunk.length
      slow.pause()
    })
    slow.pause()
    const reading = setInterval(() => slow.resume(), 5)
    // The end of the connection is seen by whoever writes to it, or reads what came before.
    await eventually(20_000, 'the silent one to be hung up on', () => {
      silent.write('x')
      return isClosed
    })
    await eventually(20_000, 'the slow one to have all of it', () => read > 8 * 1024 * 1024)
    clearInterval(reading)
    assert.equal(slow.destroyed, false)
    slow.destroy()
  })
})

describe('many large answers that nobody reads', () => {
  it('are refused when there are too many, and given again when they are gone', async () => {
    const large = 'y'.repeat(40 * 1024 * 1024)
    const server = createServer(toNodeListener({ fetch: async () => new Response(large) }))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    const silent = await Promise.all(Array.from({ length: 6 }, () => deaf(port)))
    for (const socket of silent) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const status = async () => (await fetch(`http://127.0.0.1:${port}/`)).status
    await eventually(20_000, 'a refusal', async () => (await status()) === 503)
    for (const socket of silent) socket.destroy()
    await eventually(20_000, 'an answer', async () => (await status()) === 200)
    server.closeAllConnections()
    server.close()
  })
})
