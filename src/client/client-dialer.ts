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
import { type ByteReader, readerOf } from '../net/read-at-most.js'
import { isNode } from '../net/runtime.js'
import type { HttpRequest, HttpResponse } from '../transports/http-client.js'
import type { FetchFunction } from '../transports/in-process.js'
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

export type DialedRequest = Pick<HttpRequest, 'method' | 'headers' | 'body' | 'signal'>

/** A response whose body has not been read. */
export interface DialedResponse extends Pick<HttpResponse, 'status' | 'headers'> {
  /** Browsers hide status and location of a redirect and report `opaqueredirect` only. */
  readonly type?: string
  readonly body: ByteReader | null
}

export interface ClientDialer {
  /** Follows no redirect. Rejects with `AddressRefused`, or with the error of the connection. */
  send(url: string, request: DialedRequest): Promise<DialedResponse>
  /** Returns the addresses of a host that may be dialled, on Node. Rejects with `AddressRefused`. */
  resolve(host: string): Promise<readonly string[]>
  /** Closes the open connections. */
  close(): Promise<void>
}

export function createClientDialer(options: ClientDialerOptions): ClientDialer {
  const { namedOrigins, allowPrivate = false, fetch, handle, certificate, lookup } = options
  if (handle) {
    return { send: sendWith(inProcess(handle)), resolve: async () => [], close: async () => undefined }
  }
  const allowHosts = namedOrigins
    .flatMap((origin) => (canParseUrl(origin) ? new URL(origin).hostname : []))
    .filter(isHost)
  const rules: AddressRules = { httpsOnly: false, allowHosts, allowPrivate, allowNeighbours: true }
  const open = async () => {
    if (!isNode()) {
      const dialer = createBrowserDialer(rules)
      return { ...dialer, send: sendWith(dialer.fetch) }
    }
    const { createGuardedDialer, sendRequest } = await import('#node-dialer')
    const dialer = createGuardedDialer({
      ...rules,
      ...(lookup && { lookup }),
      ...(certificate && { tls: certificate }),
    })
    return { ...dialer, send: (url: string, request: DialedRequest) => sendRequest(dialer, url, request) }
  }
  let opened: ReturnType<typeof open> | undefined
  const dialer = () => {
    opened ??= open()
    return opened
  }
  return {
    async send(url, request) {
      const { check, send } = await dialer()
      if (!fetch) return await send(url, request)
      await check(url)
      return await sendWith(fetch)(url, request)
    },
    resolve: async (host) => (await dialer()).resolve(host),
    close: async () => (await opened)?.close(),
  }
}

function sendWith(fetch: (url: string, init: RequestInit) => Promise<Response>): ClientDialer['send'] {
  return async (url, { method, headers, body, signal }) => {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      // Never send the cookies of a browser: credentials are passed explicitly.
      credentials: 'omit',
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    })
    const { status, headers: received, type } = response
    return { status, headers: received, type, body: response.body && readerOf(response.body) }
  }
}

/** Loads the transport with the first request: web pages rarely have an agent of their own. */
function inProcess(handle: FetchFunction): (url: string, init: RequestInit) => Promise<Response> {
  let opened: Promise<ReturnType<typeof inProcess>> | undefined
  return async (url, init) => {
    opened ??= import('../transports/in-process.js').then(({ inProcessFetch }) => inProcessFetch(handle))
    return await (await opened)(url, init)
  }
}
