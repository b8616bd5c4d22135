/**
 * Which addresses may be reached, for everything that follows a URL somebody else wrote: webhooks, files, cards.
 * Only the rules: `node-dialer.ts` keeps to them with every connection it makes, a browser as far as it can.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import type { NamesOf } from '../model/option-names.js'
import { type AddressClass, classifyAddress, classifyHost, isHost, isSameHost } from './addresses.js'

/** Which addresses may be reached. */
export interface AddressRules {
  /** Nothing in the clear, hosts in `allowHosts` aside. Default true. */
  readonly httpsOnly?: boolean
  /**
   * Hosts somebody here vouches for, such as `localhost` or `hooks.internal`: they may be anywhere, and may be spoken to
   * in the clear. One host, one entry. Names and addresses of loopback count as one host: `localhost` also allows
   * `127.0.0.1` and `[::1]`, and each of them allows `localhost`.
   */
  readonly allowHosts?: readonly string[]
  /** Only these ports, for allowed hosts too. Default: all. */
  readonly allowPorts?: readonly number[]
  /** Addresses that are not on the internet may be reached too. */
  readonly allowPrivate?: boolean
  /** So may those in the same kind of place as an allowed host: loopback beside loopback, private beside private. */
  readonly allowNeighbours?: boolean
}

/** The rules that users set, by name. */
export const ruleNames = {
  httpsOnly: 'boolean',
  allowHosts: 'strings',
  allowPorts: 'numbers',
  allowPrivate: 'boolean',
} satisfies NamesOf<Omit<AddressRules, 'allowNeighbours'>>

/** All addresses of a name. An empty list, or a throw: there is none. */
export type NameLookup = (name: string) => Promise<readonly string[]>

/** The rule that an address breaks. `name`: nobody knows where it leads. */
export type AddressRule = 'syntax' | 'scheme' | 'credentials' | 'port' | 'place' | 'name'

/** Says which rule an address breaks, in words for whoever gave it. */
export class AddressRefused extends Error {
  readonly rule: AddressRule

  constructor(rule: AddressRule, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AddressRefused'
    this.rule = rule
  }
}

export interface AddressGuard {
  /** Scheme, port and spelling. Throws `AddressRefused`. */
  checkUrl(url: string | URL): URL
  /** The same, and where the host leads, unless it may lead anywhere. Rejects with `AddressRefused`. */
  check(url: string | URL): Promise<void>
  /** All addresses of a host, if there is none among them that must not be reached. Rejects with `AddressRefused`. */
  resolve(host: string): Promise<readonly string[]>
}

/** Without a `lookup`, as in browsers, names are taken for public: their addresses are not ours to know. */
export function createAddressGuard(rules: AddressRules, lookup?: NameLookup): AddressGuard {
  const { httpsOnly = true, allowHosts = [], allowPorts, allowPrivate = false, allowNeighbours = false } = rules
  for (const host of allowHosts) mustBeHost(host)
  const isAllowed = (host: string) => allowHosts.some((each) => isSameHost(each, host))

  const addressesOf = async (name: string): Promise<readonly string[]> => {
    if (!lookup) return []
    const addresses = await lookup(name).catch((cause: unknown) => {
      throw new AddressRefused('name', `${name} cannot be reached: the name is not known`, { cause })
    })
    if (addresses.length > 0) return addresses
    throw new AddressRefused('name', `${name} cannot be reached: the name has no address`)
  }
  const placesOf = async (host: string): Promise<readonly AddressClass[]> => {
    const known = classifyHost(host)
    return known === 'name' ? (await addressesOf(host)).map(classifyAddress) : [known]
  }
  const isOpen = async (place: AddressClass): Promise<boolean> => {
    if (place === 'public') return true
    if (allowNeighbours) for (const host of allowHosts) if ((await placesOf(host)).includes(place)) return true
    return false
  }
  // Any of the addresses may be the one that is dialled, so all of them count.
  const mustBeOpen = async (host: string, places: readonly AddressClass[]) => {
    if (allowPrivate || isAllowed(host)) return
    for (const place of new Set(places))
      if (!(await isOpen(place)))
        throw new AddressRefused('place', `${host} is ${wordsFor[place]}, which must not be reached from here`)
  }

  const checkUrl = (given: string | URL): URL => {
    const url = parse(given)
    const { protocol, hostname, port, username, password } = url
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new AddressRefused('scheme', `${protocol} is not spoken here, only http: and https:`)
    if (username !== '' || password !== '')
      throw new AddressRefused('credentials', `The address of ${hostname} has a password in it`)
    if (httpsOnly && protocol === 'http:' && !isAllowed(hostname))
      throw new AddressRefused('scheme', `${hostname} must be reached by https:, not in the clear`)
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
    if (allowPorts && !allowPorts.includes(number))
      throw new AddressRefused('port', `Port ${number} of ${hostname} must not be reached from here`)
    return url
  }
  const resolve = async (host: string): Promise<readonly string[]> => {
    const known = classifyHost(host)
    // Addresses, and names of this machine, which are refused before anybody is asked what they mean.
    if (known !== 'name') await mustBeOpen(host, [known])
    if (isLiteral(host)) return [host.replace(/^\[|\]$/g, '')]
    const addresses = await addressesOf(host)
    await mustBeOpen(host, addresses.map(classifyAddress))
    return addresses
  }
  const check = async (url: string | URL): Promise<void> => {
    const { hostname } = checkUrl(url)
    if (!allowPrivate && !isAllowed(hostname)) await resolve(hostname)
  }
  return { checkUrl, check, resolve }
}

const wordsFor: Readonly<Record<AddressClass, string>> = {
  loopback: 'this machine',
  private: 'on a private network',
  'link-local': 'a link-local address',
  public: 'on the internet',
}

function parse(given: string | URL): URL {
  if (given instanceof URL) return given
  if (canParseUrl(given)) return new URL(given)
  throw new AddressRefused('syntax', `${JSON.stringify(given.slice(0, 200))} is no address`)
}

/** `https://hooks.internal` or `hooks.internal:8080` would never match, and somebody would wonder why. */
function mustBeHost(host: string): void {
  if (isHost(host)) return
  throw new TypeError(`${JSON.stringify(host)} in allowHosts is no host: write the name or address alone`)
}

/** A host that no name service is asked about. URL has every spelling of an IPv4 address written out. */
function isLiteral(host: string): boolean {
  return host.includes(':') || /^\d+\.\d+\.\d+\.\d+$/.test(host)
}

/** No connection came about, so nothing was sent. What went wrong is the cause; `code` is the one it has. */
export class NotConnected extends Error {
  readonly code: string | undefined

  constructor(cause: Error & { readonly code?: unknown }) {
    super(cause.message, { cause })
    this.name = 'NotConnected'
    this.code = typeof cause.code === 'string' ? cause.code : undefined
  }
}
