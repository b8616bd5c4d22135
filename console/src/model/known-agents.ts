/** Merges the agents of the console with those of the registry. */
import type { AgentCard } from 'dragoman/client'
import type { NamedAgent } from 'dragoman/console'

/** The members of a registry entry that the page shows. */
export interface ListedAgent {
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly tags: readonly string[]
  readonly card?: AgentCard
  readonly score?: number
  readonly instances: readonly {
    readonly instance: string
    readonly url: string
    readonly health: { readonly state: 'healthy' | 'unhealthy' | 'unknown' }
  }[]
}

export interface KnownAgent extends NamedAgent {
  /** Its entry in the registry. */
  readonly listed?: ListedAgent
}

export interface KnownAgents {
  /** Agents that the console may call. */
  readonly named: readonly KnownAgent[]
  /** Agents that are only in the registry. */
  readonly others: readonly ListedAgent[]
}

export function knownAgents(named: readonly NamedAgent[], listed: readonly ListedAgent[]): KnownAgents {
  const placesOf = (agent: ListedAgent) => [registryRef(agent), ...agent.instances.map(({ url }) => placeOf(url))]
  const found: KnownAgent[] = []
  const taken = new Set<string>()
  for (const agent of named.toSorted(byAddressFirst)) {
    const place = placeOf(agent.ref)
    if (taken.has(place)) continue
    const same = listed.find((each) => placesOf(each).includes(place))
    for (const each of same ? placesOf(same) : [place]) taken.add(each)
    found.push({ ...agent, ...(same && { listed: same }) })
  }
  const order = (ref: string) => named.findIndex((each) => each.ref === ref)
  return {
    named: found.sort((one, other) => order(one.ref) - order(other.ref)),
    others: listed.filter((agent) => !placesOf(agent).some((place) => taken.has(place))),
  }
}

/** Finds the agent at this address, under any of its names. */
export function sameAgent({ named }: KnownAgents, ref: string): KnownAgent | undefined {
  const place = placeOf(ref)
  return named.find(
    (agent) =>
      placeOf(agent.ref) === place ||
      (agent.listed &&
        (registryRef(agent.listed) === ref || agent.listed.instances.some(({ url }) => placeOf(url) === place))),
  )
}

/** Finds the agent of the console that this registry entry describes. */
export function namedAs(known: KnownAgents, listed: ListedAgent): KnownAgent | undefined {
  const refs = [registryRef(listed), ...listed.instances.map(({ url }) => url)]
  return refs.map((ref) => sameAgent(known, ref)).find((agent) => agent !== undefined)
}

export function registryRef({ namespace, name }: Pick<ListedAgent, 'namespace' | 'name'>): string {
  return `registry:${namespace}/${name}`
}

/** Normalises an address: all loopback names are equal, and the path of the card is removed. */
export function placeOf(ref: string): string {
  if (ref.startsWith('registry:')) return ref
  const bare = ref.trim().replace(/^https?:\/\//i, '')
  const [host = '', ...segments] = bare.split('/')
  const here = host.toLowerCase().replace(/^(127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=:|$)/, 'localhost')
  const path = ['', ...segments].join('/').replace(/\/\.well-known\/agent(-card)?\.json$/, '')
  const end = [...path].findLastIndex((character) => character !== '/')
  return here + path.slice(0, end + 1)
}

/** Prefers addresses to registry names. */
function byAddressFirst(one: NamedAgent, other: NamedAgent): number {
  return Number(one.ref.startsWith('registry:')) - Number(other.ref.startsWith('registry:'))
}
