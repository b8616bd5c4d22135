/** Classifies addresses by the network they belong to. No name is looked up. Invalid addresses are not public. */

/**
 * Class of an address. `loopback`: this machine. `private`: not on the internet. `link-local`: the local network segment,
 * and other addresses at which clouds serve instance metadata with secrets.
 */
export type AddressClass = 'public' | 'private' | 'link-local' | 'loopback'

/** Classifies a host of a URL, in any spelling, with or without brackets. `name`: it has to be looked up. */
export function classifyHost(host: string): AddressClass | 'name' {
  const normal = normalise(host)
  if (normal === undefined) return 'private'
  if (normal.startsWith('[')) return classifyIPv6(normal.slice(1, -1))
  if (/^\d+\.\d+\.\d+\.\d+$/.test(normal)) return classifyIPv4(normal.split('.').map(Number))
  return normal === 'localhost' || normal.endsWith('.localhost') ? 'loopback' : 'name'
}

/** Classifies an address that a name was resolved to. */
export function classifyAddress(address: string): AddressClass {
  const found = classifyHost(address.split('%', 1).join()) // ignore the zone of `fe80::1%eth0`
  return found === 'name' ? 'private' : found
}

/**
 * Returns the key under which limits count an address: the address, or the first 64 bits of an IPv6 address, because one
 * subscriber usually has a whole /64 network.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  const [plain = ''] = address.split('%', 1)
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1]
  if (mapped !== undefined) return mapped
  return `${groupsOf(plain)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** Whether a text is a host, without scheme and port. */
export function isHost(host: string): boolean {
  return normalise(host) !== undefined
}

/** Whether two hosts are the same, without a lookup. All loopback hosts are the same. */
export function isSameHost(one: string, other: string): boolean {
  const first = normalise(one)
  if (first === undefined) return false
  if (first === normalise(other)) return true
  return classifyHost(one) === 'loopback' && classifyHost(other) === 'loopback'
}

/** Uses `URL`, which normalises every spelling of an IPv4 address: decimal, octal, hexadecimal, shortened. */
function normalise(host: string): string | undefined {
  const isBareIPv6 = host.includes(':') && !host.startsWith('[')
  // These characters would end the host.
  if (host === '' || host.length > 255 || /[/?#@\\\s]/.test(host)) return undefined
  try {
    const { hostname, port } = new URL(`http://${isBareIPv6 ? `[${host}]` : host}/`)
    const name = hostname.replace(/\.$/, '') // the root of the name service
    return port === '' && name !== '' ? name : undefined
  } catch {
    return undefined
  }
}

type Block = readonly [first: readonly number[], bits: number, addressClass: AddressClass]

/** Addresses that are not on the internet (IANA special-purpose address registry). The first match counts. */
const blocks: readonly Block[] = [
  // Connecting to the unspecified address reaches this machine.
  [[0, 0, 0, 0], 32, 'loopback'],
  [[127], 8, 'loopback'],
  [[169, 254], 16, 'link-local'],
  [[100, 100, 100, 200], 32, 'link-local'],
  [[192, 0, 0, 192], 32, 'link-local'],
  [[0], 8, 'private'],
  [[10], 8, 'private'],
  [[100, 64], 10, 'private'],
  [[172, 16], 12, 'private'],
  [[192, 0, 0], 24, 'private'],
  [[192, 0, 2], 24, 'private'],
  [[192, 88, 99], 24, 'private'],
  [[192, 168], 16, 'private'],
  [[198, 18], 15, 'private'],
  [[198, 51, 100], 24, 'private'],
  [[203, 0, 113], 24, 'private'],
  [[224], 3, 'private'], // multicast, reserved, broadcast
]

function classifyIPv4(octets: readonly number[]): AddressClass {
  return blocks.find((block) => isWithin(octets, block, 8))?.[2] ?? 'public'
}

const v6Blocks: readonly Block[] = [
  [[0, 0, 0, 0, 0, 0, 0, 0], 128, 'loopback'],
  [[0, 0, 0, 0, 0, 0, 0, 1], 128, 'loopback'],
  [[0xfe80], 10, 'link-local'],
  [[0xfd00, 0xec2], 32, 'link-local'],
  [[0xfd20, 0xce], 32, 'link-local'],
  [[0x2001, 0], 23, 'private'], // Teredo and other protocol assignments
  [[0x2001, 0xdb8], 32, 'private'],
  [[0x3fff], 20, 'private'],
]

/** IPv6 prefixes that embed an IPv4 address: prefix, its bits, and the group at which the IPv4 address begins. */
const embeddings: readonly (readonly [first: readonly number[], bits: number, at: number])[] = [
  [[0, 0, 0, 0, 0, 0xffff], 96, 6],
  [[0, 0, 0, 0, 0xffff, 0], 96, 6],
  [[0, 0, 0, 0, 0, 0], 96, 6],
  [[0x64, 0xff9b, 0, 0, 0, 0], 96, 6],
  [[0x2002], 16, 1],
]

function classifyIPv6(address: string): AddressClass {
  const groups = groupsOf(address)
  if (groups.length !== 8) return 'private'
  const known = v6Blocks.find((block) => isWithin(groups, block, 16))
  if (known) return known[2]
  const embedding = embeddings.find(([first, bits]) => isWithin(groups, [first, bits, 'private'], 16))
  const at = embedding?.[2] ?? (groups[5] === 0x5efe ? 6 : undefined) // ISATAP
  if (at !== undefined) return classifyIPv4(groups.slice(at, at + 2).flatMap((group) => [group >> 8, group & 255]))
  // Only 2000::/3 is routed on the internet.
  return isWithin(groups, [[0x2000], 3, 'public'], 16) ? 'public' : 'private'
}

function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::').map((side) => (side === '' ? [] : side.split(':')))
  if (tail === undefined) return [...head].map(fromHex)
  const zeros: string[] = Array(Math.max(0, 8 - head.length - tail.length)).fill('0')
  return [...head, ...zeros, ...tail].map(fromHex)
}

function fromHex(group: string): number {
  return Number.parseInt(group, 16)
}

/** Compares the leading bits. */
function isWithin(units: readonly number[], [first, bits]: Block, unitBits: number): boolean {
  for (let index = 0, left = bits; left > 0; index++, left -= unitBits) {
    const dropped = Math.max(0, unitBits - left)
    if ((units[index] ?? 0) >> dropped !== (first[index] ?? 0) >> dropped) return false
  }
  return true
}
