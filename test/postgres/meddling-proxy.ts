/** Stands between a client and Postgres and meddles with what the database says, message by message. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface MeddlingProxy extends AsyncDisposable {
  /** The same database, seen through the proxy. */
  readonly address: string
  /** How many clients have a connection now. */
  readonly clients: number
  /** Clients lose their connections; the database does not notice, and works on. */
  abandon(): void
}

/** What to do with a message of the database, by its type (`A`: a notification, `D`: a row, `C`: done). */
export type Meddle = (type: string) => 'pass' | 'drop' | 'cut'

export async function meddlingProxy(address: string, meddle: Meddle): Promise<MeddlingProxy> {
  const target = new URL(address)
  const open = new Set<Socket>()
  const clients = new Set<Socket>()
  let abandon: (() => void)[] = []
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    let isAbandoned = false
    const end = () => {
      near.destroy()
      if (!isAbandoned) far.destroy()
    }
    clients.add(near)
    near.on('close', () => clients.delete(near))
    abandon.push(() => {
      isAbandoned = true
      near.unpipe(far)
      near.destroy()
    })
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    near.pipe(far)
    let rest = Buffer.alloc(0)
    far.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      // A type, and a length that counts itself.
      while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
        const length = 1 + rest.readUInt32BE(1)
        const message = rest.subarray(0, length)
        rest = rest.subarray(length)
        const verdict = meddle(String.fromCharCode(message[0] as number)) // it has five bytes at least
        if (verdict === 'cut') return end()
        if (verdict === 'pass') near.write(message)
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
