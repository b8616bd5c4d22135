/** Fetches what the operator pointed at: in bounded time and size, and from nowhere else. */
import { canParseUrl } from '../model/can-parse-url.js'
import { readAtMost } from '../net/read-at-most.js'

/** The `fetch` that reads keys and discovery documents. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

const longestMs = 5_000
const mostBytes = 512 * 1024

export async function fetchJson(url: string, fetch: Fetch): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(longestMs),
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status}`)
  }
  const bytes = await readAtMost(response, mostBytes)
  if (!bytes) throw new Error(`${url} answered more than ${mostBytes} bytes`)
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown
}

/** Keys decide who gets in: they come over TLS, or from this machine. */
export function assertTrustworthy(url: string, what: string): void {
  const { protocol, hostname } = canParseUrl(url) ? new URL(url) : { protocol: '', hostname: '' }
  if (protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))) return
  throw new TypeError(`${what} must be an https address, not ${JSON.stringify(url)}`)
}
