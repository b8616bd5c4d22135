/** Where the card of a reference may be. Pure. */
import { canParseUrl } from '../model/can-parse-url.js'
import { TransportError } from '../model/transport-error.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { classifyHost } from '../net/addresses.js'

export interface CardPlaces {
  /** What the user named. */
  readonly origin: string
  /** The address with its path that the user named, if it has one: cards below it come before those of the origin. */
  readonly address?: string
  /** In the order in which they are tried. */
  readonly urls: readonly string[]
}

const newer = '/.well-known/agent-card.json'
const older = '/.well-known/agent.json'

/** Whether a reference can only be an address, so that no registry need be asked. */
export function isAddress(ref: string): boolean {
  if (/^https?:\/\//i.test(ref) || ref.includes('/')) return true
  const host = ref.replace(/:\d{1,5}$/, '')
  return host !== ref || (host !== '' && classifyHost(host) !== 'name' && !/\s/.test(host))
}

/** A host, a host with a port, an address, or the address of a card itself. */
export function placesOf(ref: string): CardPlaces {
  const url = toUrl(ref)
  const { origin, pathname } = url
  if (/\.json$/i.test(pathname) || pathname.includes('/.well-known/')) return { origin, urls: [url.href] }
  const path = withoutTrailingSlashes(pathname)
  const urlsAt = (base: string) => [base + newer, base + older]
  if (path === '') return { origin, urls: urlsAt(origin) }
  const address = origin + path
  return { origin, address, urls: [...urlsAt(address), ...urlsAt(origin)] }
}

/** Without a scheme, this machine is spoken to in the clear and everybody else is not. */
function toUrl(ref: string): URL {
  const text = ref.trim()
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text)
  const host = /^(\[[^\]]*\]|[^/:?#]*)/.exec(text)?.[0] ?? ''
  const scheme = classifyHost(host) === 'loopback' ? 'http' : 'https'
  const spelled = hasScheme ? text : `${scheme}://${text}`
  const isUsable = canParseUrl(spelled) && !/\s/.test(text) && text.length <= 2048
  if (!isUsable) throw new TransportError('refused', `${quoted(text)} is neither an address nor the name of an agent`)
  const url = new URL(spelled)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TransportError(
      'refused',
      `${quoted(text)} is no address of an agent: it must begin with http:// or https://`,
    )
  url.hash = ''
  return url
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
