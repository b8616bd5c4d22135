/** Which hosts a client may reach: those the user named, and what is no further inside than they are. */
import { type AddressClass, classifyHost, isSameHost } from '../net/addresses.js'
import { isNode } from '../net/runtime.js'
import { TransportError } from '../transports/transport-error.js'

export interface GuardOptions {
  readonly named: readonly string[]
  readonly allowPrivate?: boolean
  readonly lookup?: (name: string) => Promise<AddressClass>
}

/** Throws `refused` for addresses that must not be reached. */
export type AddressGuard = (url: string) => Promise<void>

export function createAddressGuard({ named, allowPrivate = false, lookup = lookupName }: GuardOptions): AddressGuard {
  const hosts = named.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).hostname)
  const classOf = async (host: string): Promise<AddressClass> => {
    const found = classifyHost(host)
    return found === 'name' ? lookup(host) : found
  }
  return async (url) => {
    if (!URL.canParse(url)) throw new TransportError('refused', `${JSON.stringify(url.slice(0, 200))} is no address`)
    const { protocol, hostname, username, password } = new URL(url)
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new TransportError('refused', `${protocol} is not spoken here, only http: and https:`)
    if (username !== '' || password !== '')
      throw new TransportError('refused', `The address of ${hostname} has a password in it: give it as a credential`)
    if (allowPrivate || hosts.some((host) => isSameHost(host, hostname))) return
    const target = await lookedUp(hostname, classOf)
    if (target === 'public') return
    for (const host of hosts) if ((await lookedUp(host, classOf)) === target) return
    throw new TransportError('refused', `${hostname} is ${places[target]}, which ${namedOr(hosts)} may not lead to`)
  }
}

const places: Readonly<Record<Exclude<AddressClass, 'public'>, string>> = {
  loopback: 'this machine',
  private: 'on a private network',
  'link-local': 'a link-local address',
}

function namedOr(hosts: readonly string[]): string {
  return hosts.length > 0 ? hosts.join(', ') : 'an address from elsewhere'
}

async function lookedUp(host: string, classOf: (host: string) => Promise<AddressClass>): Promise<AddressClass> {
  try {
    return await classOf(host)
  } catch (cause) {
    throw new TransportError('unreachable', `${host} cannot be reached: the name is not known`, { cause })
  }
}

/** A browser looks nothing up for us, and has a guard of its own. */
async function lookupName(name: string): Promise<AddressClass> {
  if (!isNode()) return 'public'
  // Not written as a constant: bundlers follow those, and would pull Node's modules into the browser.
  const path = ['..', 'net', 'node-lookup.js'].join('/')
  const { classifyName } = (await import(/* @vite-ignore */ path)) as typeof import('../net/node-lookup.js')
  return classifyName(name)
}
