/**
 * Decides which addresses a client may call. A host that the user named may have any address. Every other host must be on
 * the internet, or have the same address class (loopback, private) as a named host.
 *
 * On Node the guarded dialer of `net/` checks the resolved address of every connection. In browsers, and for a `fetch` that
 * the user passes, only the URL is checked, before the request.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import type { AddressRules, NameLookup } from '../net/address-rules.js'
import { isHost } from '../net/addresses.js'
import { isNode } from '../net/runtime.js'
import { type FetchFunction, inProcessFetch } from '../transports/in-process.js'
import { createGuardedDialer as createBrowserDialer } from './browser-stubs.js'
import type { ClientCertificate } from './credentials/credential.js'

export interface ClientDialerOptions {
  /** Origins that the user named, such as `https://agent.example`. */
  readonly namedOrigins: readonly string[]
  /** Allows all addresses in private networks and on this machine. Default false. */
  readonly allowPrivate?: boolean
  /** Replaces the guarded `fetch`. Its connections cannot be checked. */
  readonly fetch?: typeof fetch
  /** Answers every request in this process. Nothing is dialled, so no address is checked. */
  readonly handle?: FetchFunction
  /** Client certificate, on Node. */
  readonly certificate?: ClientCertificate
  /** Replaces the name lookup of the platform, on Node. */
  readonly lookup?: NameLookup
}

export interface ClientDialer {
  /** Follows no redirect. Rejects with `AddressRefused`, or with the error of the connection. */
  fetch(url: string, init: RequestInit): Promise<Response>
  /** Returns the addresses of a host that may be dialled, on Node. Rejects with `AddressRefused`. */
  resolve(host: string): Promise<readonly string[]>
  /** Closes the open connections. */
  close(): Promise<void>
}

export function createClientDialer(options: ClientDialerOptions): ClientDialer {
  const { namedOrigins, allowPrivate = false, fetch, handle, certificate, lookup } = options
  if (handle) return { fetch: inProcessFetch(handle), resolve: async () => [], close: async () => undefined }
  const allowHosts = namedOrigins
    .flatMap((origin) => (canParseUrl(origin) ? new URL(origin).hostname : []))
    .filter(isHost)
  const rules: AddressRules = { httpsOnly: false, allowHosts, allowPrivate, allowNeighbours: true }
  const open = async () => {
    if (!isNode()) return createBrowserDialer(rules)
    const { createGuardedDialer } = await import('#node-dialer')
    return createGuardedDialer({ ...rules, ...(lookup && { lookup }), ...(certificate && { tls: certificate }) })
  }
  let opened: ReturnType<typeof open> | undefined
  const dialer = () => {
    opened ??= open()
    return opened
  }
  return {
    async fetch(url, init) {
      const { check, fetch: guardedFetch } = await dialer()
      const request: RequestInit = { ...init, redirect: 'manual' }
      if (!fetch) return await guardedFetch(url, request)
      await check(url)
      return await fetch(url, request)
    },
    resolve: async (host) => (await dialer()).resolve(host),
    close: async () => (await opened)?.close(),
  }
}
