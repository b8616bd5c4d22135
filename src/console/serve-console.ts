import { randomBytes } from 'node:crypto'
import { listen, type PortOptions, tlsFor } from '../server/bind.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { type ConsoleOptions, createConsole } from './create-console.js'

export interface ServeConsoleOptions extends ConsoleOptions, Omit<PortOptions, 'auth'> {}

export interface ServedConsole {
  /** What to open in a browser; with the token, where one is needed. */
  readonly url: string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The console on a port of its own. On another address than loopback it makes a token, unless one is given.
 *
 * ```ts
 * const { url } = await serveConsole({ port: 8010, agents: ['http://localhost:8001'] })
 * ```
 */
export async function serveConsole(options: ServeConsoleOptions = {}): Promise<ServedConsole> {
  const { host = '127.0.0.1' } = options
  const isLoopback = host === 'localhost' || host === '::1' || host.startsWith('127.')
  const token = options.token ?? (isLoopback ? undefined : randomBytes(18).toString('base64url'))
  const publicHost = options.publicUrl === undefined ? [] : [new URL(options.publicUrl).host]
  let front: ReturnType<typeof createConsole> | undefined
  const nothing = () => Promise.resolve(new Response(null, { status: 404 }))
  const listener = createListener(toNodeListener({ fetch: (request) => front?.fetch(request) ?? nothing() }), {
    deadlines: options.deadlines,
    tls: tlsFor(options),
  })
  const address = await listen(listener, options)
  front = createConsole({
    ...options,
    ...(token !== undefined && { token }),
    hosts: [...(options.hosts ?? []), ...publicHost, ...(isLoopback ? [] : [new URL(address).host])],
  })
  const close = async () => {
    const closed = new Promise<void>((resolve) => listener.server.close(() => resolve()))
    front?.close()
    // Streams have ended; give their last bytes a moment to leave, then close what is left.
    const lastCall = setTimeout(() => listener.closeAll(), 500)
    listener.closeIdle()
    await closed
    clearTimeout(lastCall)
  }
  const base = (options.publicUrl ?? address.replace('//127.0.0.1:', '//localhost:')).replace(/\/+$/, '')
  return { url: `${base}/${token === undefined ? '' : `?token=${token}`}`, close, [Symbol.asyncDispose]: close }
}
