/** Opens and closes ports, and refuses insecure combinations of address and `auth`. */
import type { AddressInfo } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { type Auth, assertAuth, requirementsOf, schemesOf } from '../auth/requirement.js'
import { MissingOptionError } from '../model/option-names.js'
import type { Listener } from './listener.js'

/** Options of a TCP port. */
export interface PortOptions {
  /** The port to listen on. Default 0: any free port. */
  readonly port?: number
  /** The address to bind. Default 127.0.0.1. Another address needs `auth`, or an explicit `auth: 'none'`. */
  readonly host?: string
  /**
   * Certificate and key, as `node:tls` takes them. With `mtls` in `auth` also `ca`: the authorities that issue client
   * certificates.
   */
  readonly tls?: TlsOptions
}

/** A port and the callers it accepts. */
export type GuardedPort = PortOptions & { readonly auth?: Auth | 'none' }

const defaultHost = '127.0.0.1'
const lastBytesMs = 1000

/** Listens, and returns the bound address. */
export async function listen(
  { server }: Listener,
  { port = 0, host = defaultHost, tls }: PortOptions,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(explainError(error, port, host))
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      resolve()
    })
  })
  const { port: bound } = server.address() as AddressInfo // a TCP server that listens has one
  return `${tls ? 'https' : 'http'}://${urlHost(host)}:${bound}`
}

/** Closes the port: accepts no new connections, waits for calls under way, then closes the remaining connections. */
export async function closePort(listener: Listener, finish: () => Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => listener.server.close(() => resolve()))
  listener.closeIdle()
  await finish()
  // Streams have ended; give their last bytes time to be sent.
  const lastCall = setTimeout(() => listener.closeAll(), lastBytesMs)
  listener.closeIdle()
  await closed
  clearTimeout(lastCall)
}

/** Explains the two common errors. */
function explainError(error: NodeJS.ErrnoException, port: number, host: string): Error {
  if (error.code === 'EADDRINUSE') return new Error(`Port ${port} is in use; pass another \`port\``, { cause: error })
  if (error.code === 'EADDRNOTAVAIL') return new Error(`${host} is not an address of this machine`, { cause: error })
  return error
}

export function isLoopback(host = defaultHost): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** Rejects a public address without `auth`, unless `auth` is `'none'` explicitly. */
export function assertClosedByDefault({ host = defaultHost, auth }: GuardedPort, what = 'agent'): void {
  if (auth !== undefined && auth !== 'none') assertAuth(auth)
  if (isLoopback(host) || auth !== undefined) return
  const reason = `Every caller that reaches ${host} could use this ${what}`
  throw new MissingOptionError('auth', reason, "set `auth`, or `auth: 'none'` explicitly")
}

/**
 * With `mtls` the port asks for client certificates. It requires none unless `tls` does: cards are public, and callers may
 * use another scheme. Calls without a trusted certificate are rejected later.
 */
export function tlsFor({ tls, auth }: GuardedPort): TlsOptions | undefined {
  const schemes = auth === undefined || auth === 'none' ? [] : schemesOf(requirementsOf(auth))
  const scheme = schemes.find(({ needsCertificate }) => needsCertificate)
  if (!scheme) return tls
  if (!tls)
    throw new TypeError(
      `${scheme.name} needs \`tls\`: behind a proxy that terminates TLS, client certificates do not arrive`,
    )
  if (!tls.ca)
    throw new TypeError(`${scheme.name} needs \`tls.ca\`: the authorities of the accepted client certificates`)
  if (tls.requestCert === false) throw new TypeError(`${scheme.name} needs \`tls.requestCert\`, which is false`)
  return { rejectUnauthorized: false, ...tls, requestCert: true }
}

/** Returns `localhost` for 127.0.0.1 too: Google ADK compares the card's address with the fetched one as text. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::' || host === defaultHost) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
