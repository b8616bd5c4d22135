import type { CardResolver } from '../../client/resolve-card.js'

/** What a name stands for: an address, a card, or a list of these for several instances. */
export type AgentPlaces = Readonly<Record<string, string | object | readonly (string | object)[]>>

/**
 * Finds agents in a list.
 *
 * ```ts
 * await connect('weather', { resolvers: [staticResolver({ weather: 'https://weather.example' })] })
 * ```
 */
export function staticResolver(agents: AgentPlaces): CardResolver {
  const resolve = async (name: string) => (Object.hasOwn(agents, name) ? agents[name] : undefined)
  return Object.assign(resolve, { source: 'user' })
}
