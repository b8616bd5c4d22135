/** The mount path of each agent: the root for a single agent, otherwise a path of its own. */
import { serverDialects } from '../dialects/servers.js'
import { type Agent, isAgent } from '../engine/agent.js'
import { assertOptions, type NamesOf, type OptionNames } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'

/** One agent, or several: each under its own path, which is made from its name unless given. */
export type Agents = Agent | readonly (Agent | MountedAgent)[]

/** An agent in a list of agents, with its path. */
export interface MountedAgent {
  readonly agent: Agent
  /** Path of the agent, such as `/writer`. Default: made from its name. */
  readonly path?: string
}

export const mountedAgent = { agent: true, path: true } satisfies NamesOf<MountedAgent>

/** An agent and the path it is served at. */
export interface Mount {
  readonly agent: Agent
  readonly path: string
}

/** First segments of paths that the port itself answers. */
export const portNames = ['.well-known', 'healthz', 'readyz', 'metrics']

/** First segments of paths below an agent. */
export const reserved: ReadonlySet<string> = new Set([
  ...portNames,
  ...serverDialects
    .flatMap(({ jsonrpc, rest }) => [...(jsonrpc?.paths ?? []), ...(rest?.routes ?? []).map(({ path }) => path)])
    .map((path) => path.split('/')[1] ?? ''),
])

export function mountsOf(agents: Agents): readonly Mount[] {
  if (isAgent(agents)) return [{ agent: agents, path: '' }]
  assertAgents('createHandler', agents, mountedAgent)
  const mounts = (agents as readonly (Agent | MountedAgent)[]).map((each) => {
    const agent = isAgent(each) ? each : each.agent
    return { agent, path: normalisePath((isAgent(each) ? undefined : each.path) ?? `/${slug(agent.card.name)}`) }
  })
  const hasRoot = mounts.some(({ path }) => path === '')
  for (const { path, agent } of mounts) {
    const [, first = ''] = path.split('/')
    if (hasRoot ? reserved.has(first) : portNames.includes(first))
      throw new TypeError(
        `${agent.card.name} cannot be mounted at ${path}: /${first} is reserved, give it another path`,
      )
    if (mounts.filter((each) => each.path === path).length > 1)
      throw new TypeError(`Two agents are mounted at ${path || '/'}: give one of them another path`)
    if (mounts.filter((each) => each.agent.card.name === agent.card.name).length > 1)
      throw new TypeError(`Two agents are called ${agent.card.name}: their tasks would be mixed up, rename one`)
  }
  return mounts
}

/** Throws a `TypeError` that says what to write if this is not a list of agents. */
export function assertAgents(owner: string, agents: unknown, names: OptionNames): void {
  if (!Array.isArray(agents) || agents.length === 0)
    throw new TypeError(`${owner} needs an agent, or a list of agents: agent('Shout', async function* (turn) { … })`)
  for (const [place, each] of (agents as readonly unknown[]).entries()) {
    if (isAgent(each)) continue
    const name = `${owner}.agents[${place}]`
    if (typeof each === 'object' && each !== null) assertOptions(name, each, names)
    if (!isAgent((each as Partial<MountedAgent> | null | undefined)?.agent))
      throw new TypeError(`Not an agent: ${name}; write agent('Shout', …), or { agent: shout, path: '/shout' }`)
  }
}

function normalisePath(path: string): string {
  const trimmed = withoutTrailingSlashes(path)
  return trimmed === '' || trimmed.startsWith('/') ? trimmed : `/${trimmed}`
}

function slug(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'agent'
  )
}
