import { canParseUrl } from '../model/can-parse-url.js'
import type { HostCheck } from './hosts.js'

export interface OriginOptions {
  /** Origins of pages that may call. */
  readonly origins: readonly string[]
  /** The public address; pages on it may call. */
  readonly url: string
  readonly isOwnHost: HostCheck
}

export type OriginCheck = (request: Request) => boolean

/**
 * Accepts requests from pages of this server and of `origins`. A page can send simple requests to every address its
 * browser reaches, loopback included. Browsers name the page in `Origin`; requests without it are accepted.
 */
export function createOriginCheck({ origins, url, isOwnHost }: OriginOptions): OriginCheck {
  assertOrigins(origins)
  const allowed = new Set(origins)
  const ownHost = new URL(url).host
  return (request) => {
    const origin = request.headers.get('origin')
    if (origin === null || allowed.has(origin)) return true
    if (!canParseUrl(origin)) return false
    const { host } = new URL(origin)
    // Another name may resolve to this machine too (DNS rebinding).
    return host === ownHost || (host === new URL(request.url).host && isOwnHost(host))
  }
}

/** Throws a `TypeError` for values that no `Origin` header equals. */
function assertOrigins(origins: unknown): void {
  const list: readonly unknown[] = Array.isArray(origins) ? origins : [origins]
  for (const origin of list) {
    if (Array.isArray(origins) && typeof origin === 'string' && isOrigin(origin)) continue
    const why =
      origin === '*'
        ? "'*' is not supported, because then every web page could call these agents from its visitors' browsers"
        : `got ${JSON.stringify(origin)}`
    throw new TypeError(`\`cors\` must be a list of origins: write \`cors: ['https://app.example']\`; ${why}`)
  }
}

/** Scheme, host and port, and nothing behind them. */
function isOrigin(text: string): boolean {
  if (text === 'null') return true
  if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+$/.test(text) || !canParseUrl(text)) return false
  const { origin } = new URL(text)
  return origin === 'null' || origin === text
}
