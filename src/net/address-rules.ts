/**
 * Rules for addresses that come from other parties: webhooks, files, cards. `node-dialer.ts` applies them to every
 * connection. In browsers only the URL is checked.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import type { NamesOf } from '../model/option-names.js'
import { type AddressClass, classifyAddress, classifyHost, isHost, isSameHost } from './addresses.js'

/** Rules for addresses. By default only https on the internet is allowed. */
export interface AddressRules {
  /** Rejects http, except for hosts in `allowHosts`. Default true. */
  readonly httpsOnly?: boolean
  /**
   * Trusted hosts, such as `localhost` or `hooks.internal`. They may have any address and may use http. Names and addresses
   * of loopback are the same host: `localhost` also allows `127.0.0.1` and `[::1]`, and each of them allows `localhost`.
   */
  readonly allowHosts?: readonly string[]
  /** Only these ports, for all hosts. Default: all ports. */
  readonly allowPorts?: readonly number[]
  /** Allows addresses that are not on the internet. Default false. */
  readonly allowPrivate?: boolean
  /** Allows addresses of the same class as an allowed host: loopback if it is loopback, private if it is private. Default false. */
  readonly allowNeighbours?: boolean
}

/** Names and kinds of the rules that users set. */
export const ruleNames = {
  httpsOnly: 'boolean',
  allowHosts: 'strings',
  allowPorts: 'numbers',
  allowPrivate: 'boolean',
} satisfies NamesOf<Omit<AddressRules, 'allowNeighbours'>>

/** Looks up all addresses of a name. An empty list or an error means that there is none. */
export type NameLookup = (name: string) => Promise<readonly string[]>

/** The rule that an address violates. `place`: its network is not allowed. `name`: the name cannot be resolved. */
export type AddressRule = 'syntax' | 'scheme' | 'credentials' | 'port' | 'place' | 'name'

/** Thrown for an address that violates a rule. The message is safe to show to the party that sent the address. */
export class AddressRefused extends Error {
  readonly rule: AddressRule

  constructor(rule: AddressRule, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AddressRefused'
    this.rule = rule
  }
}

interface AddressGuard {
  /** Checks scheme, port and syntax. Throws `AddressRefused`. */
  checkUrl(url: string | URL): URL
  /** Also resolves the host, unless it is allowed, and checks its addresses. Rejects with `AddressRefused`. */
  check(url: string | URL): Promise<void>
  /** Returns all addresses of a host. Rejects with `AddressRefused` if one of them is not allowed. */
  resolve(host: string): Promise<readonly string[]>
}

/** Without `lookup`, as in browsers, names count as public. */
export function createAddressGuard(rules: AddressRules, lookup?: NameLookup): AddressGuard {
  const { httpsOnly = true, allowHosts = [], allowPorts, allowPrivate = false, allowNeighbours = false } = rules
  for (const host of allowHosts) assertHost(host)
  const isAllowed = (host: string) => allowHosts.some((each) => isSameHost(each, host))

  const addressesOf = async (name: string): Promise<readonly string[]> => {
    if (!lookup) return []
    const addresses = await lookup(name).catch((cause: unknown) => {
      throw new AddressRefused('name', `${name} cannot be reached: the name is not known`, { cause })
    })
    if (addresses.length > 0) return addresses
    throw new AddressRefused('name', `${name} cannot be reached: the name has no address`)
  }
  const classesOf = async (host: string): Promise<readonly AddressClass[]> => {
    const known = classifyHost(host)
    return known === 'name' ? (await addressesOf(host)).map(classifyAddress) : [known]
  }
  const isReachable = async (place: AddressClass): Promise<boolean> => {
    if (place === 'public') return true
    if (allowNeighbours) for (const host of allowHosts) if ((await classesOf(host)).includes(place)) return true
    return false
  }
  // Any of the addresses may be dialled, so all of them are checked.
  const assertAllowed = async (host: string, places: readonly AddressClass[]) => {
    if (allowPrivate || isAllowed(host)) return
    for (const place of new Set(places))
      if (!(await isReachable(place)))
        throw new AddressRefused('place', `${host} is ${descriptions[place]}, which must not be reached from here`)
  }

  const checkUrl = (given: string | URL): URL => {
    const url = parse(given)
    const { protocol, hostname, port, username, password } = url
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new AddressRefused('scheme', `The scheme ${protocol} is not supported, only http: and https:`)
    if (username !== '' || password !== '')
      throw new AddressRefused('credentials', `The address of ${hostname} contains a user name or password`)
    if (httpsOnly && protocol === 'http:' && !isAllowed(hostname))
      throw new AddressRefused('scheme', `${hostname} must be reached by https:, not by http:`)
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
    if (allowPorts && !allowPorts.includes(number))
      throw new AddressRefused('port', `Port ${number} of ${hostname} must not be reached from here`)
    return url
  }
  const resolve = async (host: string): Promise<readonly string[]> => {
    const known = classifyHost(host)
    // Addresses and names of this machine need no lookup.
    if (known !== 'name') await assertAllowed(host, [known])
    if (isLiteral(host)) return [host.replace(/^\[|\]$/g, '')]
    const addresses = await addressesOf(host)
    await assertAllowed(host, addresses.map(classifyAddress))
    return addresses
  }
  const check = async (url: string | URL): Promise<void> => {
    const { hostname } = checkUrl(url)
    if (!allowPrivate && !isAllowed(hostname)) await resolve(hostname)
  }
  return { checkUrl, check, resolve }
}

const descriptions: Readonly<Record<AddressClass, string>> = {
  loopback: 'this machine',
  private: 'on a private network',
  'link-local': 'a link-local address',
  public: 'on the internet',
}

function parse(given: string | URL): URL {
  if (given instanceof URL) return given
  if (canParseUrl(given)) return new URL(given)
  throw new AddressRefused('syntax', `Invalid address: ${JSON.stringify(given.slice(0, 200))}`)
}

/** Rejects `https://hooks.internal` and `hooks.internal:8080`, which would never match. */
function assertHost(host: string): void {
  if (isHost(host)) return
  throw new TypeError(`Invalid host in \`allowHosts\`: ${JSON.stringify(host)}; write the name or address alone`)
}

/** Whether the host is an address. `URL` has normalised every spelling of an IPv4 address. */
function isLiteral(host: string): boolean {
  return host.includes(':') || /^\d+\.\d+\.\d+\.\d+$/.test(host)
}

/** Thrown if no connection could be made, so that nothing was sent. `cause` has the reason, `code` its error code. */
export class NotConnected extends Error {
  readonly code: string | undefined

  constructor(cause: Error & { readonly code?: unknown }) {
    super(cause.message, { cause })
    this.name = 'NotConnected'
    this.code = typeof cause.code === 'string' ? cause.code : undefined
  }
}
