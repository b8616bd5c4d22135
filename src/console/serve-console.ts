import { randomBytes } from 'node:crypto'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { closePort, isLoopback, listen, type PortOptions, tlsFor } from '../server/bind.js'
import { assertPublicUrl } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { portOptions } from '../server/option-names.js'
import { assembleConsole, type ConsoleOptions, consoleOptions } from './create-console.js'

export interface ServeConsoleOptions extends ConsoleOptions, Omit<PortOptions, 'auth'> {}

const optionNames = { ...portOptions, ...consoleOptions } satisfies NamesOf<ServeConsoleOptions>

export interface ServedConsole {
  /** What to open in a browser; with the token, where one is needed. */
  readonly url: string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The console on a port of its own. On another address than loopback it makes a token, unless one or `auth` is given.
 *
 * ```ts
 * const { url } = await serveConsole({ port: 8010, agents: ['http://localhost:8001'] })
 * ```
 */
export async function serveConsole(options: ServeConsoleOptions = {}): Promise<ServedConsole> {
  assertOptions('serveConsole', options, optionNames)
  assertPublicUrl(options.publicUrl)
  const isHere = isLoopback(options.host)
  const { token = isHere || options.auth ? undefined : randomBytes(18).toString('base64url') } = options
  const publicHost = options.publicUrl === undefined ? [] : [new URL(options.publicUrl).host]
  let front: ReturnType<typeof assembleConsole> | undefined
  const nothing = () => Promise.resolve(new Response(null, { status: 404 }))
  const fetch: Extract<Parameters<typeof toNodeListener>[0], { fetch: unknown }>['fetch'] = (request, connection) =>
    front?.fetch(request, connection && { connection }) ?? nothing()
  const listener = createListener(toNodeListener({ fetch }), {
    deadlines: options.deadlines,
    connections: options.connections,
    tls: tlsFor(options),
  })
  const address = await listen(listener, options)
  front = assembleConsole({
    ...options,
    ...(token !== undefined && { token }),
    hosts: [...(options.hosts ?? []), ...publicHost, ...(isHere ? [] : [new URL(address).host])],
  })
  const close = () => closePort(listener, async () => front?.close())
  const base = withoutTrailingSlashes(options.publicUrl ?? address)
  return { url: `${base}/${token === undefined ? '' : `?token=${token}`}`, close, [Symbol.asyncDispose]: close }
}
