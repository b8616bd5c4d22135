import { readFile, stat } from 'node:fs/promises'
import type { CardResolver } from '../../client/resolve-name.js'
import { isObject } from '../../model/is-object.js'

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

/**
 * Finds agents in a JSON file, `{ "agents": { "weather": "https://weather.example" } }`, which is read again when it
 * has changed. A file that cannot be read is an error, not an agent that is not there.
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
    throw new Error(`${path} is no JSON`, { cause })
  }
  const agents = isObject(content) ? content.agents : undefined
  if (!isObject(agents)) throw new Error(`${path} has no object \`agents\``)
  for (const [name, place] of Object.entries(agents))
    if (typeof place !== 'string' && (typeof place !== 'object' || place === null))
      throw new Error(`${path}: ${JSON.stringify(name)} is neither an address nor a card`)
  return agents as AgentPlaces // checked above
}
