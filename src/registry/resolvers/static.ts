import { readFile, stat } from 'node:fs/promises'
import type { CardResolver } from '../../client/resolve-name.js'
import { isObject } from '../../model/is-object.js'

/** Agents by name: a URL, a card, or a list of these for several instances. */
export type AgentPlaces = Readonly<Record<string, string | object | readonly (string | object)[]>>

/**
 * Creates a resolver that finds agents in a fixed list.
 *
 * ```ts
 * await connect('weather', { resolvers: [staticResolver({ weather: 'https://weather.example' })] })
 * ```
 */
export function staticResolver(agents: AgentPlaces): CardResolver {
  const resolve = async (name: string) => (Object.hasOwn(agents, name) ? agents[name] : undefined)
  return Object.assign(resolve, { source: 'user' })
}

/**
 * Creates a resolver that finds agents in a JSON file: `{ "agents": { "weather": "https://weather.example" } }`. It reads
 * the file again after a change. Lookups fail if the file cannot be read.
 */
export function fileResolver(path: string): CardResolver {
  let known: { readonly version: string; readonly resolve: CardResolver } | undefined
  const resolve: CardResolver = async (name) => {
    const { mtimeMs, size, ino } = await stat(path)
    const version = `${mtimeMs}/${size}/${ino}`
    if (known?.version !== version) known = { version, resolve: staticResolver(await readPlaces(path)) }
    return await known.resolve(name)
  }
  return Object.assign(resolve, { source: 'user' })
}

async function readPlaces(path: string): Promise<AgentPlaces> {
  const text = await readFile(path, 'utf8')
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (cause) {
    throw new Error(`${path} is not JSON`, { cause })
  }
  const agents = isObject(content) ? content.agents : undefined
  if (!isObject(agents)) throw new Error(`${path} has no object \`agents\``)
  for (const [name, place] of Object.entries(agents))
    if (typeof place !== 'string' && (typeof place !== 'object' || place === null))
      throw new Error(`${path}: ${JSON.stringify(name)} must be a URL or a card`)
  return agents as AgentPlaces // checked above
}
