/**
 * The public keys of an issuer. They are fetched for the first token, and again when they are old or a token names an
 * unknown key, but never more often than the cooldown allows, because tokens are untrusted input. While the issuer is
 * unreachable, the cached keys stay valid for a limited time.
 */
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import type { NamesOf } from '../model/option-names.js'
import { loadJose } from '../net/load-jose.js'
import { readAtMost } from '../net/read-at-most.js'

/** Times for which an issuer's keys are cached. */
export interface KeyTimes {
  /** Minimum time between two fetches. Default 10 s. */
  readonly cooldownMs?: number
  /** Age after which keys are fetched again before use. Default 10 minutes. */
  readonly freshMs?: number
}

export const keyTimeNames = { cooldownMs: true, freshMs: true } satisfies NamesOf<KeyTimes>

/** Maximum age of keys that cannot be fetched again. */
const maxStaleMs = 6 * 60 * 60_000

export function remoteKeys(fetchKeys: () => Promise<JSONWebKeySet>, times: KeyTimes = {}): JWTVerifyGetKey {
  const { cooldownMs = 10_000, freshMs = 10 * 60_000 } = times
  let keys: { readonly find: JWTVerifyGetKey; readonly sinceMs: number } | undefined
  let triedMs = Number.NEGATIVE_INFINITY
  let failure: unknown
  let fetching: Promise<void> | undefined

  const fetchOnce = async (): Promise<void> => {
    triedMs = Date.now()
    try {
      const { createLocalJWKSet } = await loadJose()
      keys = { find: createLocalJWKSet(await fetchKeys()), sinceMs: Date.now() }
      failure = undefined
    } catch (cause) {
      failure = cause
    } finally {
      fetching = undefined
    }
  }
  /** Waits for a running fetch, or starts one if the cooldown allows it. */
  const refresh = async (): Promise<void> => {
    if (!fetching && Date.now() - triedMs < cooldownMs) return
    fetching ??= fetchOnce()
    await fetching
  }
  const current = async (): Promise<JWTVerifyGetKey> => {
    if (!keys || Date.now() - keys.sinceMs > freshMs) await refresh()
    if (keys && Date.now() - keys.sinceMs < Math.max(freshMs, maxStaleMs)) return keys.find
    throw new A2AError('UNAVAILABLE', 'The issuer of tokens cannot be reached, try again', {
      retryAfterSeconds: Math.ceil(cooldownMs / 1000),
      cause: failure,
    })
  }
  return async (header, token) => {
    const find = await current()
    try {
      return await find(header, token)
    } catch (caught) {
      const { errors } = await loadJose()
      if (!(caught instanceof errors.JWKSNoMatchingKey)) throw caught
      // The issuer may have a new key.
      await refresh()
      const renewed = await current()
      if (renewed === find) throw caught
      return await renewed(header, token)
    }
  }
}

/** The `fetch` that reads keys and discovery documents. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

const timeoutMs = 5_000
const maxBytes = 512 * 1024

export async function fetchJson(url: string, fetch: Fetch): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status}`)
  }
  const bytes = await readAtMost(response, maxBytes)
  if (!bytes) throw new Error(`${url} answered more than ${maxBytes} bytes`)
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown
}

/** Throws unless keys come over TLS or from this machine, because they decide who is authenticated. */
export function assertTrustworthy(url: string, what: string): void {
  const { protocol, hostname } = canParseUrl(url) ? new URL(url) : { protocol: '', hostname: '' }
  if (protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))) return
  throw new TypeError(`${what} must be an https address, not ${JSON.stringify(url)}`)
}
