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
  const allowed = new Set(origins)
  const ownHost = new URL(url).host
  return (request) => {
    const origin = request.headers.get('origin')
    if (origin === null || allowed.has(origin)) return true
    if (!URL.canParse(origin)) return false
    const { host } = new URL(origin)
    // Another name may resolve to this machine too (DNS rebinding).
    return host === ownHost || (host === new URL(request.url).host && isOwnHost(host))
  }
}
