/** Looks names up, on Node. Loaded on use: nothing that runs in a browser reaches it. */
// The default export, because bundlers put an empty object in place of Node's modules.
import dns from 'node:dns'
import { type AddressClass, classifyAddress } from './addresses.js'

/** Where a name leads: the least public of all its addresses, for any of them may be the one that is dialled. */
export async function classifyName(name: string): Promise<AddressClass> {
  const addresses = await dns.promises.lookup(name, { all: true, verbatim: true })
  const classes = new Set(addresses.map(({ address }) => classifyAddress(address)))
  const order: readonly AddressClass[] = ['link-local', 'loopback', 'private', 'public']
  return order.find((each) => classes.has(each)) ?? 'private'
}
