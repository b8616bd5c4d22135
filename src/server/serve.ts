/** Serves agents on a port. */
import { channel } from 'node:diagnostics_channel'
import type { Agent } from '../engine/agent.js'
import { isAgent } from '../engine/agent.js'
import type { Log } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { PushOperations } from '../push/dead-letters.js'
import { toSigner } from '../signing/signer.js'
import { measureCommits } from '../telemetry/metrics.js'
import type { AnswerExchange, HttpAnswer } from '../transports/exchange.js'
import type { PortFacts } from './agent-member.js'
import type { AnnouncedAgent, announce, RegisterOptions } from './announce.js'
import { type Assembly, assemble, notOneAgent } from './assemble.js'
import { settleBasePath } from './base-path.js'
import { assertClosedByDefault, closePort, listen, tlsFor } from './bind.js'
import { settleLog } from './default-log.js'
import { assertPublicUrl, createHostCheck, hostsOnPort } from './hosts.js'
import { createHttp2Endpoint, http2Fault } from './http2-endpoint.js'
import { createListener } from './listener.js'
import { assertGuardedMetrics, openMetrics, type ServerMetrics } from './metrics.js'
import { type Agents, assertAgents } from './mounts.js'
import { createNodeListener } from './node.js'
import { useStore } from './open-store.js'
import {
  closeOptions,
  type ServedAgent,
  type ServeOptions,
  type SettledOptions,
  servedAgent,
  serveOptions,
  settleOptions,
} from './options.js'
import { watchStrayErrors } from './stray-errors.js'

/** Receives one message for each call of `serve`. `dragoman serve` uses it to detect modules that call `serve`. */
const serveCalls = channel('dragoman:serve')

/** Agents that listen on a port. */
export interface Served {
  /** The address of the (first) agent. */
  readonly url: string
  /** All agents and their addresses. */
  readonly agents: readonly { readonly name: string; readonly url: string }[]
  /** The address of the metrics, if they are served. */
  readonly metricsUrl?: string
  /** The operations of each agent, for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** Webhook deliveries that were given up, for operators. */
  readonly push: PushOperations
  /**
   * Provides the credential that a task in AUTH_REQUIRED waits for; the task continues. `agent` is the agent's name,
   * required if there are several agents.
   */
  readonly provideCredential: Assembly['provideCredential']
  /** Stops admitting calls, lets turns finish up to the deadline, hands over the rest, then closes the port. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Serves one agent at `/`, or several: each under its own path, or on its own port.
 *
 * ```ts
 * await serve(shout, { port: 8001 })
 * await serve([writer, { agent: editor, path: '/edit' }], { port: 8001, store: 'sqlite:tasks.sqlite' })
 * ```
 */
export async function serve(
  agents: Agents | readonly (Agent | ServedAgent)[],
  options: ServeOptions = {},
): Promise<Served> {
  assertOptions('serve', options, serveOptions)
  const { metrics: askedMetrics = false } = options
  if (serveCalls.hasSubscribers) serveCalls.publish({ agents, port: options.port })
  assertClosedByDefault(options)
  assertGuardedMetrics(askedMetrics, options)
  assertPublicUrl(options.publicUrl)
  const log = settleLog(options.log)
  const given = settleOptions(options, log)
  const isOwnHost = createHostCheck(given)
  const grpc = settleGrpc(given.grpc)
  const { register } = options
  const announceAll = register === undefined ? undefined : await prepareAnnouncement(register, log)
  const signer = given.signing && (await toSigner(given.signing))
  const { store, release } = await useStore(options.store, log)
  const metrics = await openMetrics(askedMetrics, log, isOwnHost).catch(async (error) => {
    await release()
    throw error
  })
  const allowedHosts = hostsOnPort(given)
  const settled: SettledServeOptions = {
    ...given,
    grpc,
    ...(allowedHosts && { allowedHosts }),
    routes: [...(options.routes ?? []), ...metrics.routes],
  }
  const stopMeasuring = metrics.meter && measureCommits(metrics.meter, store)
  const services = new Map<string, AgentService>()
  const ports: OpenPort[] = []
  let announced: ReturnType<typeof announce> | undefined
  const stopWatching = watchStrayErrors(options.log)
  const closeAll = async (deadlineMs: number | undefined) => {
    try {
      // First, so that the registry sends no client to a port that closes.
      await announced?.withdraw()
      await Promise.all(ports.map((port) => port.close(deadlineMs)))
      stopMeasuring?.()
      await metrics.close()
      await release()
    } finally {
      stopWatching()
    }
  }
  try {
    for (const { mounted, ...place } of byPort(agents, options)) {
      const { meter } = metrics
      ports.push(await openPort(mounted, settled, { ...place, meter, store, signer }, services))
    }
    const found = ports.flatMap((port) => port.announced)
    announced = announceAll?.(found)
  } catch (error) {
    await closeAll(0)
    throw error
  }
  const served: Served = {
    url: ports[0]?.agents[0]?.url ?? '',
    ...metricsPlace(metrics, ports),
    agents: ports.flatMap((port) => port.agents),
    services,
    push: pushOfAll(ports.map(({ handler }) => handler.push)),
    async provideCredential(provided) {
      const named = ports.filter(({ agents: here }) => here.some(({ name }) => name === (provided.agent ?? name)))
      const [only, ...others] = named
      if (!only || others.length > 0) throw new TypeError(notOneAgent(provided.agent))
      await only.handler.provideCredential(provided)
    },
    async close(closing = {}) {
      assertOptions('close', closing, closeOptions)
      await closeAll(closing.deadlineMs)
    },
    [Symbol.asyncDispose]: () => closeAll(0),
  }
  return served
}

type SettledServeOptions = SettledOptions<ServeOptions>

/** Whether to serve gRPC. Default: if the runtime can. */
function settleGrpc(asked: boolean | undefined): boolean {
  const fault = http2Fault()
  if (asked && fault)
    throw new TypeError(`\`advanced.grpc: true\` is not supported on this runtime: ${fault}. Leave it out`)
  return asked ?? fault === undefined
}

/** Loads the client of registries on use, so that servers that are in no registry start faster. */
async function prepareAnnouncement(register: string | RegisterOptions, log: Log | undefined) {
  const { announce, settleRegister } = await import('./announce.js')
  const settled = settleRegister(register)
  return (agents: readonly AnnouncedAgent[]) => announce(agents, settled, log)
}

interface OpenPort {
  readonly handler: Assembly
  /** The bound address, with the base path. */
  readonly base: string
  readonly agents: Served['agents']
  /** The agents that have a card for registries. */
  readonly announced: readonly AnnouncedAgent[]
  close(deadlineMs: number | undefined): Promise<void>
}

interface Place extends Pick<ServeOptions, 'publicUrl'>, Pick<PortFacts, 'meter' | 'store' | 'signer'> {
  readonly port: number
}

async function openPort(
  agents: Agents,
  options: SettledServeOptions,
  { port, publicUrl, ...shared }: Place,
  services: Map<string, AgentService>,
): Promise<OpenPort> {
  const basePath = settleBasePath(options.basePath)
  // The card names the port, so the server listens before the agents are ready.
  let handler: Assembly | undefined
  const early: HttpAnswer = { status: 503, headers: { 'retry-after': '1' } }
  const answer: AnswerExchange = (exchange) => handler?.answer(exchange) ?? early
  const { grpc: hasGrpc = false, deadlines } = options
  const http2 = createHttp2Endpoint({ answer, assembly: () => handler, hasGrpc, deadlines })
  const listener = createListener(createNodeListener(answer), {
    deadlines,
    connections: options.connections,
    tls: tlsFor(options),
    ...(!http2Fault() && { onHttp2: (socket) => http2.accept(socket) }),
    log: options.log,
  })
  const base = await listen(listener, { ...options, port })
  const url = withoutTrailingSlashes(publicUrl ?? `${base}${basePath}`)
  try {
    const made = await assemble(
      agents,
      {
        ...options,
        publicUrl: url,
        resolve: (ref) => services.get(typeof ref === 'string' ? ref : ref.card.name) ?? options.resolve?.(ref),
      },
      {
        ...shared,
        ...(hasGrpc && { grpcAuthority: authorityOf(url) }),
        ...(typeof options.register === 'object' && { registeredFor: options.register.address }),
      },
    )
    handler = made
    for (const [name, service] of made.services) services.set(name, service)
    const placed = made.mounts.map(({ agent, path }) => ({ name: agent.card.name, url: `${url}${path}/`, path }))
    return {
      handler: made,
      base: `${base}${basePath}`,
      agents: placed.map(({ name, url: at }) => ({ name, url: at })),
      announced: placed.flatMap(({ name, url: at, path }) => {
        const card = made.registered.get(path)
        return card ? [{ name, url: at, card }] : []
      }),
      close: (deadlineMs) => {
        http2.drain()
        return closePort(listener, async () => {
          await made.close(deadlineMs === undefined ? {} : { deadlineMs })
          await http2.close()
        })
      },
    }
  } catch (error) {
    listener.server.close()
    listener.closeAll()
    throw error
  }
}

function metricsPlace(
  { url, routes: [route] }: ServerMetrics,
  [first]: readonly OpenPort[],
): Pick<Served, 'metricsUrl'> | undefined {
  if (url !== undefined) return { metricsUrl: url }
  return route && first && { metricsUrl: `${first.base}${route.path}` }
}

/** Ports share a store and its dead letters, but each port knows its own agents only. */
function pushOfAll(ports: readonly PushOperations[]): PushOperations {
  return {
    async deadLetters(query = {}) {
      const found = (await Promise.all(ports.map((port) => port.deadLetters(query)))).flat()
      return found.sort((a, b) => Number(a.id) - Number(b.id)).slice(0, query.limit ?? 100)
    },
    async redeliver(id) {
      for (const port of ports) {
        const found = await port.redeliver(id)
        if (found) return found
      }
      return undefined
    },
  }
}

/** Agents with their own port are at its root; the others share the common port. */
function byPort(
  agents: Agents | readonly (Agent | ServedAgent)[],
  { port = 0, publicUrl }: ServeOptions,
): readonly { readonly port: number; readonly publicUrl?: string; readonly mounted: Agents }[] {
  const common = { port, ...(publicUrl !== undefined && { publicUrl }) }
  if (isAgent(agents)) return [{ ...common, mounted: agents }]
  const list = agents as readonly (Agent | ServedAgent)[]
  assertAgents('serve', list, servedAgent)
  const names = list.map((each) => (isAgent(each) ? each : each.agent).card.name)
  const twice = names.find((name, place) => names.indexOf(name) !== place)
  if (twice !== undefined) {
    throw new TypeError(`Two agents are called ${twice}: their tasks would be mixed up, rename one`)
  }
  const alone = list.flatMap((each) =>
    isAgent(each) || each.port === undefined ? [] : [{ port: each.port, mounted: each.agent }],
  )
  const together = list.filter((each) => isAgent(each) || each.port === undefined)
  return together.length > 0 ? [{ ...common, mounted: together }, ...alone] : alone
}

/** gRPC addresses have the form `host:port` for every scheme (R-GRPC-5). */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
