/** A TCP load balancer: forwards each connection to the next replica that accepts it. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface Balancer extends AsyncDisposable {
  readonly url: string
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  let next = 0
  const forward = (client: Socket, attemptsLeft: number) => {
    const port = ports[next++ % ports.length] as number // the list is not empty
    const upstream = connect(port, '127.0.0.1')
    upstream.once('error', () => {
      if (upstream.connecting || !client.writable || attemptsLeft <= 1) client.destroy()
      else forward(client, attemptsLeft - 1)
    })
    upstream.once('connect', () => {
      open.add(upstream)
      upstream.removeAllListeners('error')
      for (const [source, target] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        source.on('error', () => target.destroy())
        source.on('close', () => target.destroy())
        source.pipe(target)
      }
    })
  }
  const server = createServer({ pauseOnConnect: true }, (client) => {
    open.add(client)
    client.on('error', () => undefined)
    client.on('close', () => open.delete(client))
    forward(client, ports.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // the server listens on a TCP port
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
