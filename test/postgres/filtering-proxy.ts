/** A proxy between a client and Postgres that can drop messages of the database or close the connection. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface FilteringProxy extends AsyncDisposable {
  /** The address of the database through the proxy. */
  readonly address: string
  /** The number of connected clients. */
  readonly clients: number
  /** Closes the connections of clients. Those to the database stay open. */
  abandon(): void
}

/** Decides about a message of the database by its type (`A`: a notification, `D`: a row, `C`: done). */
export type MessageFilter = (type: string) => 'pass' | 'drop' | 'cut'

export async function filteringProxy(address: string, filter: MessageFilter): Promise<FilteringProxy> {
  const target = new URL(address)
  const open = new Set<Socket>()
  const clients = new Set<Socket>()
  let abandon: (() => void)[] = []
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let isAbandoned = false
    const end = () => {
      client.destroy()
      if (!isAbandoned) upstream.destroy()
    }
    clients.add(client)
    client.on('close', () => clients.delete(client))
    abandon.push(() => {
      isAbandoned = true
      client.unpipe(upstream)
      client.destroy()
    })
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.pipe(upstream)
    let rest = Buffer.alloc(0)
    upstream.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      // One byte for the type, then the length, which includes itself.
      while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
        const length = 1 + rest.readUInt32BE(1)
        const message = rest.subarray(0, length)
        rest = rest.subarray(length)
        const verdict = filter(String.fromCharCode(message[0] as number)) // a message has at least five bytes
        if (verdict === 'cut') return end()
        if (verdict === 'pass') client.write(message)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  const through = new URL(address)
  through.port = String(port)
  return {
    address: through.href,
    get clients() {
      return clients.size
    },
    abandon() {
      for (const each of abandon) each()
      abandon = []
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
