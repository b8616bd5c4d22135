/** A plain TCP balancer: the next replica that answers gets the connection. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface Balancer extends AsyncDisposable {
  readonly url: string
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  let turn = 0
  const join = (near: Socket, left: number) => {
    const port = ports[turn++ % ports.length] as number // there is one at least
    const far = connect(port, '127.0.0.1')
    far.once('error', () => {
      if (far.connecting || !near.writable || left <= 1) near.destroy()
      else join(near, left - 1)
    })
    far.once('connect', () => {
      open.add(far)
      far.removeAllListeners('error')
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => other.destroy())
        one.on('close', () => other.destroy())
        one.pipe(other)
      }
    })
  }
  const server = createServer({ pauseOnConnect: true }, (near) => {
    open.add(near)
    near.on('error', () => undefined)
    near.on('close', () => open.delete(near))
    join(near, ports.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
