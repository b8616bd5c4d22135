/**
 * How a client reaches addresses. A host the user named may be reached whatever it resolves to. Any other host must be
 * on the internet, or in the same kind of place as one the user named (loopback and loopback, private and private).
 *
 * On Node every connection is made by the guarded dialer. A browser looks nothing up for us and has a guard of its own,
 * so there, and for a `fetch` of the user's, addresses are checked before they are asked.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import type { AddressRules, NameLookup } from '../net/address-rules.js'
import { isHost } from '../net/addresses.js'
import { isNode } from '../net/runtime.js'
import { type FetchHandler, inProcessFetch } from '../transports/in-process.js'
import { createGuardedDialer as createBrowserDialer } from './browser-stubs.js'
import type { ClientCertificate } from './credentials/static-credentials.js'

export interface ClientDialerOptions {
  /** Origins that the user named, such as `https://agent.example`. */
  readonly namedOrigins: readonly string[]
  /** Other addresses that are not on the internet may be reached too. */
  readonly allowPrivate?: boolean
  /** In place of the one that is made here. It makes connections of its own, which nobody can check. */
  readonly fetch?: typeof fetch
  /** Answers every request in this process: nothing is dialled, so no address is checked. */
  readonly handle?: FetchHandler
  /** Shown to whoever asks for it, on Node. */
  readonly certificate?: ClientCertificate
  /** In place of the name service of the platform, on Node. */
  readonly lookup?: NameLookup
}

export interface ClientDialer {
  /** Follows no redirects. Rejects with `AddressRefused`, or with whatever goes wrong on the way. */
  fetch(url: string, init: RequestInit): Promise<Response>
  /** The addresses of a host that may be dialled. Rejects with `AddressRefused`. On Node only. */
  resolve(host: string): Promise<readonly string[]>
  /** Ends the connections that were made here. */
  close(): Promise<void>
}

export function createClientDialer(options: ClientDialerOptions): ClientDialer {
  const { namedOrigins, allowPrivate = false, fetch, handle, certificate, lookup } = options
  if (handle) return { fetch: inProcessFetch(handle), resolve: async () => [], close: async () => undefined }
  const allowHosts = namedOrigins
    .flatMap((origin) => (canParseUrl(origin) ? new URL(origin).hostname : []))
    .filter(isHost)
  const rules: AddressRules = { httpsOnly: false, allowHosts, allowPrivate, allowNeighbours: true }
  let made: ReturnType<typeof make> | undefined
  const make = async () => {
    if (!isNode()) return createBrowserDialer(rules)
    const { createGuardedDialer } = await import('#node-dialer')
    return createGuardedDialer({ ...rules, ...(lookup && { lookup }), ...(certificate && { tls: certificate }) })
  }
  const dialer = () => {
    made ??= make()
    return made
  }
  const close = async () => (await made)?.close()
  return {
    fetch: fetch
      ? checkedFirst(async (url) => (await dialer()).check(url), fetch)
      : async (url, init) => (await dialer()).fetch(url, { ...init, redirect: 'manual' }),
    resolve: async (host) => (await dialer()).resolve(host),
    close,
  }
}

function checkedFirst(check: (url: string) => Promise<void>, fetch: typeof globalThis.fetch): ClientDialer['fetch'] {
  return async (url, init) => {
    await check(url)
    return fetch(url, { ...init, redirect: 'manual' })
  }
}
