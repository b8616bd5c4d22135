/**
 * Agents as one function from `Request` to `Response`: engines on a store, an endpoint each, routing
 * by path, health, CORS. No port: `serve` and the framework mounts put it behind one.
 */

import type { AuthScheme } from '../auth/scheme.js'
import { dialects } from '../dialects/index.js'
import { type Agent, type AgentRef, isAgent } from '../engine/agent.js'
import { createEngine, type Engine, type EngineOptions } from '../engine/engine.js'
import type { Log } from '../engine/internals.js'
import type { Retention } from '../engine/retention.js'
import type { AgentService } from '../model/service.js'
import type { Store } from '../stores/store.js'
import { Heartbeats } from '../transports/sse.js'
import { type AgentEndpoint, createAgentEndpoint } from './agent-endpoint.js'
import { completeCard } from './card.js'
import { openStore } from './open-store.js'
import { isProcessDead, processIdentity } from './process-identity.js'
import { createRouter } from './router.js'

/** One agent, or several: each under its own path, which is made from its name unless given. */
export type Agents = Agent | readonly (Agent | MountedAgent)[]

export interface MountedAgent {
  readonly agent: Agent
  /** Such as `/writer`. */
  readonly path?: string
}

export interface HandlerOptions {
  /** A store, `memory` (default), or `sqlite:PATH`. */
  readonly store?: Store | string
  /** Who may call. Without it there is one caller, `anonymous`. */
  readonly auth?: readonly AuthScheme[] | 'none'
  /** The address clients use, when it is not the one the server binds: `https://agents.example`. */
  readonly publicUrl?: string
  /** Tenants of every agent, as path prefixes and in requests. */
  readonly tenants?: readonly string[]
  /** Origins that browsers may call from. Default: none. */
  readonly cors?: readonly string[]
  /** Default 10 MB. */
  readonly maxBodyBytes?: number
  /** Silence on a stream before a comment is sent. Default 15 s. */
  readonly heartbeatMs?: number
  /** Serve calls that name no version, if only one version has their method. Default true. */
  readonly assumeV1?: boolean
  readonly retention?: Retention
  /** Leases, grace periods and limits of the engine. */
  readonly engine?: Partial<Omit<EngineOptions, 'store' | 'clock' | 'log' | 'resolve' | 'extendedCard' | 'retention'>>
  /** Wraps the operations of an agent: access rules, limits, overrides of single operations. */
  readonly wrap?: (service: AgentService, agent: Agent) => AgentService
  /** Finds agents that `turn.call` names and that are not served here. */
  readonly resolve?: (ref: AgentRef) => AgentService | undefined
  /** Where things go that no caller may see. Default: nowhere. */
  readonly log?: Log
}

export interface Handler {
  readonly fetch: (request: Request) => Promise<Response>
  /** The operations of each agent, by name: for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** Where each agent is mounted. */
  readonly mounts: readonly { readonly agent: Agent; readonly path: string }[]
  /** Stops admitting, waits for running turns up to the deadline, hands the rest over, closes the store it opened. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
}

const reserved: ReadonlySet<string> = new Set([
  'tasks',
  'v1',
  'a2a',
  'api',
  '.well-known',
  'healthz',
  'readyz',
  'metrics',
])

/**
 * Makes the handler. Cards need `publicUrl`; without it they say `http://localhost`.
 *
 * ```ts
 * const handler = await createHandler(agent, { publicUrl: 'https://agents.example/shout' })
 * const response = await handler.fetch(request)
 * ```
 */
export async function createHandler(agents: Agents, options: HandlerOptions = {}): Promise<Handler> {
  const mounts = mountsOf(agents)
  for (const tenant of options.tenants ?? []) {
    if (reserved.has(tenant)) throw new TypeError(`A tenant cannot be called ${tenant}: /${tenant} is reserved`)
  }
  const log = options.log ?? (() => undefined)
  const given = options.store ?? 'memory'
  const store = typeof given === 'string' ? await openStore(given) : given
  const auth = options.auth === undefined || options.auth === 'none' ? [] : options.auth
  const heartbeats = new Heartbeats(options.heartbeatMs ?? 15_000)
  const url = (options.publicUrl ?? 'http://localhost').replace(/\/+$/, '')
  const owner = processIdentity()
  const engines: Engine[] = []
  const services = new Map<string, AgentService>()
  const endpoints = new Map<string, AgentEndpoint>()

  for (const { agent, path } of mounts) {
    const card = completeCard(agent, {
      url: `${url}${path}`,
      versions: dialects.map(({ version }) => version),
      tenants: options.tenants ?? [],
      auth,
    })
    const { extendedCard } = agent.card
    const engine = createEngine(agent, {
      owner,
      isOwnerDead: isProcessDead,
      ...options.engine,
      store,
      log,
      retention: options.retention ?? { endedTasksMs: 7 * 24 * 60 * 60_000 },
      resolve: (ref) => services.get(typeof ref === 'string' ? ref : ref.card.name) ?? options.resolve?.(ref),
      ...(extendedCard && { extendedCard: async ({ caller }) => await extendedCard(card, caller) }),
    })
    const service = options.wrap ? options.wrap(engine, agent) : engine
    engines.push(engine)
    services.set(agent.card.name, service)
    endpoints.set(
      path,
      createAgentEndpoint({
        agent,
        service,
        card,
        dialects,
        auth,
        tenants: new Set(options.tenants),
        origins: new Set(options.cors),
        assumeV1: options.assumeV1 ?? true,
        maxBodyBytes: options.maxBodyBytes ?? 10 * 1024 * 1024,
        heartbeats,
        log,
        startedMs: Date.now(),
      }),
    )
  }
  try {
    await Promise.all(engines.map((engine) => engine.start()))
  } catch (error) {
    await Promise.all(engines.map((engine) => engine.drain(0)))
    if (typeof given === 'string') await store.close()
    throw error
  }
  const fetch = createRouter({
    endpoints,
    origins: options.cors ?? [],
    isReady: async () => {
      await store.ping()
      return !engines.some(({ isDraining }) => isDraining)
    },
  })
  return {
    fetch,
    services,
    mounts,
    async close({ deadlineMs = 10_000 } = {}) {
      await Promise.all(engines.map((engine) => engine.drain(deadlineMs)))
      if (typeof given === 'string') await store.close()
    },
  }
}

function mountsOf(agents: Agents): readonly { readonly agent: Agent; readonly path: string }[] {
  if (isAgent(agents)) return [{ agent: agents, path: '' }]
  if (!Array.isArray(agents) || agents.length === 0) throw new TypeError('serve needs an agent, or a list of agents')
  const mounts = (agents as readonly (Agent | MountedAgent)[]).map((each) => {
    const agent = isAgent(each) ? each : each.agent
    return { agent, path: normalisePath((isAgent(each) ? undefined : each.path) ?? `/${slug(agent.card.name)}`) }
  })
  for (const { path, agent } of mounts) {
    const [, first = ''] = path.split('/')
    if (reserved.has(first))
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

function normalisePath(path: string): string {
  const trimmed = path.replace(/\/+$/, '')
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
