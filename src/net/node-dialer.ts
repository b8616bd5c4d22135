/**
 * Connections to addresses that strangers wrote, on Node. A name is resolved once for a connection, all its addresses
 * are held against the rules, and one of these is dialled: a name service that answers otherwise the next time
 * (DNS rebinding) gains nothing. TLS and `Host` keep the name. A connection that is used again was checked when it was
 * made; connections are kept by origin, and a dialer's rules never change.
 *
 * No redirect is followed unless the caller says so; each place on the way is then checked like the first.
 * How long and how much to read is up to the caller: there is no time-out here but the one for connecting.
 */
import { isIP, type LookupFunction } from 'node:net'
import type { Agent, Dispatcher, RequestInit as UndiciInit } from 'undici'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import {
  AddressRefused,
  type AddressRules,
  createAddressGuard,
  type NameLookup,
  NotConnected,
  ruleNames,
} from './address-rules.js'
import { lookupName } from './lookup-name.js'

/** A client certificate, and the authorities to trust. */
export interface TlsOptions {
  /** A client certificate and its key, as PEM. */
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
  /** Who may have signed the peer's certificate. Default: those the platform trusts. */
  readonly ca?: string
}

/** Options of `createGuardedDialer`. */
export interface DialerOptions extends AddressRules {
  /** In place of the name service of the platform. */
  readonly lookup?: NameLookup
  readonly tls?: TlsOptions
  /** For resolving, connecting and TLS. Default 10 s. */
  readonly connectTimeoutMs?: number
}

/** A request with its whole body. */
export interface DialerRequest {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
}

/** Sends requests to untrusted addresses, and checks each address it connects to. */
export interface GuardedDialer extends AsyncDisposable {
  /** For when an address is registered: rejects with `AddressRefused`, which names the rule that it breaks. */
  check(url: string | URL, options?: { readonly signal?: AbortSignal }): Promise<void>
  /** All addresses of a host, if none of them must not be reached. Rejects with `AddressRefused`. */
  resolve(host: string): Promise<readonly string[]>
  /** As the platform's, on checked addresses; redirects are left to the caller unless `init` says `redirect: 'follow'`. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
  /** Without the machinery of `fetch`, for many small requests. The body must be read, or dumped. Follows no redirect. */
  request(url: string | URL, request: DialerRequest): Promise<Dispatcher.ResponseData>
  /** Ends all connections, what is under way included. */
  close(): Promise<void>
}

export const tlsNames = { cert: true, key: true, passphrase: true, ca: true } satisfies NamesOf<TlsOptions>

const dialerNames = {
  ...ruleNames,
  allowNeighbours: 'boolean',
  lookup: 'function',
  tls: tlsNames,
  connectTimeoutMs: true,
} satisfies NamesOf<DialerOptions>

/** Makes a dialer that refuses private, loopback and other addresses that the rules forbid. */
export function createGuardedDialer(options: DialerOptions = {}): GuardedDialer {
  assertOptions('createGuardedDialer', options, dialerNames)
  return createDialer(options)
}

/** As `createGuardedDialer`, for options that were checked together with others. */
export function createDialer(options: DialerOptions): GuardedDialer {
  const { lookup = lookupName, tls, connectTimeoutMs = 10_000 } = options
  const guard = createAddressGuard(options, lookup)
  let opened: Promise<Opened> | undefined
  let isClosed = false

  const pinned: LookupFunction = (name, { all }, callback) => {
    guard.resolve(name).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        const [first] = found
        if (all || !first) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, []),
    )
  }

  const open = (): Promise<Opened> => {
    if (isClosed) return Promise.reject(new Error('The dialer is closed'))
    opened ??= loadUndici().then(({ Agent, buildConnector, fetch, request }) => {
      const dial = buildConnector({ ...tls, lookup: pinned, timeout: connectTimeoutMs })
      const agent = new Agent({
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: (target, callback) => {
          // Where `fetch` follows a redirect, this is the first we see of it. Addresses are dialled without a lookup.
          const checked = new Promise<unknown>((resolve) => {
            const { protocol, port, hostname } = target
            const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname
            guard.checkUrl(`${protocol}//${host}${port && `:${port}`}`)
            resolve(isIP(hostname) ? guard.resolve(hostname) : undefined)
          })
          const fail = (error: Error) => callback(new NotConnected(error), null)
          checked.then(() => dial(target, (...[error, socket]) => (error ? fail(error) : callback(null, socket))), fail)
        },
      })
      return { agent, fetch, request }
    })
    return opened
  }

  const close = async () => {
    isClosed = true
    const loaded = await opened?.catch(() => undefined) // nothing was loaded, so nothing is open
    await loaded?.agent.destroy()
  }

  return {
    async check(url, { signal } = {}) {
      const deadline = AbortSignal.timeout(connectTimeoutMs)
      await unlessAborted(guard.check(url), signal ? AbortSignal.any([signal, deadline]) : deadline)
    },
    resolve: (host) => unlessAborted(guard.resolve(host), AbortSignal.timeout(connectTimeoutMs)),
    fetch: (url, init) =>
      plainly(async () => {
        const checked = guard.checkUrl(url)
        const { agent, fetch } = await open()
        // The package's own types of what are the same things: `fetch` of the platform takes no foreign agent.
        const given = { redirect: 'manual', ...init, dispatcher: agent } as UndiciInit
        return (await fetch(checked, given)) as unknown as Response
      }),
    request: (url, { method, headers = {}, body = null, signal }) =>
      plainly(async () => {
        const checked = guard.checkUrl(url)
        const { agent, request } = await open()
        const answer = request(checked, {
          dispatcher: agent,
          method: method as Dispatcher.HttpMethod, // any token will do
          headers,
          body,
          ...(signal && { signal }),
        })
        // By itself it does not notice a signal before the connection is made.
        return signal ? unlessAborted(answer, signal) : answer
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

type Undici = typeof import('undici')
type Opened = { readonly agent: Agent } & Pick<Undici, 'fetch' | 'request'>

/**
 * Loads the npm package by its file: Bun replaces the bare name `undici` with a module of its own, whose `fetch` ignores
 * the dispatcher and so skips the address check at dial time. A module whose `Agent` is no dispatcher is refused.
 */
async function loadUndici(): Promise<Undici> {
  const undici: Undici = await import('undici/index.js')
  const { dispatch, destroy } = (undici.Agent?.prototype ?? {}) as Partial<Agent>
  if (typeof dispatch === 'function' && typeof destroy === 'function') return undici
  throw new Error(
    'The loaded `undici` module is not the npm package, so addresses cannot be checked when connecting. ' +
      'Remove the alias or mock that replaces `undici`',
  )
}

/** A refusal as itself, and not as the cause of something that failed. */
async function plainly<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (caught) {
    for (let error = caught, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++)
      if (error instanceof AddressRefused) throw error
    throw caught
  }
}

/** For work that takes no signal: it goes on, but nobody waits for it any more. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
