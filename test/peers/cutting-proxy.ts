/** A TCP proxy that cuts connections at pseudo-random moments; equal seeds give equal moments. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number
  readonly cuts: number
}

export interface CutOptions {
  readonly seed: number
  /** Bytes of responses that pass before the proxy cuts a connection. */
  readonly minBytes: number
  readonly maxBytes: number
  /** The proxy stops cutting connections after this number of cuts. */
  readonly maxCuts?: number
}

export async function cuttingProxy(targetPort: number, options: CutOptions): Promise<CuttingProxy> {
  const { seed, minBytes, maxBytes, maxCuts = Number.POSITIVE_INFINITY } = options
  const random = seeded(seed)
  const open = new Set<Socket>()
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    let bytesLeft = minBytes + Math.floor(random() * (maxBytes - minBytes))
    const both = [client, upstream]
    const end = () => {
      for (const socket of both) socket.destroy()
    }
    for (const socket of both) {
      open.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        open.delete(socket)
        end()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes) => {
      if (cuts >= maxCuts || bytes.length < bytesLeft) {
        bytesLeft -= bytes.length
        client.write(bytes)
        return
      }
      cuts += 1
      // The client receives the bytes up to the cut, so its last read can end inside an event.
      client.write(bytes.subarray(0, bytesLeft), () => client.resetAndDestroy())
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    get cuts() {
      return cuts
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Mulberry32, a small pseudo-random number generator. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
