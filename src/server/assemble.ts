import type { Admit } from '../auth/admit.js'
import { requirementsOf, schemesOf } from '../auth/requirement.js'
import { dialectsByName } from '../dialects/servers.js'
import type { ProvidedCredential } from '../engine/admission/provide-credential.js'
import type { Agent } from '../engine/agent.js'
import { agentOn } from '../engine/engine.js'
import { stallsOutsideHandlers } from '../engine/execution/handler-watch.js'
import type { Log } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { createPush, type Push, type PushDeps } from '../push/create-push.js'
import type { PushOperations } from '../push/dead-letters.js'
import { supports } from '../stores/complete-store.js'
import type { CompleteStore } from '../stores/store.js'
import { loadTelemetry } from '../telemetry/api.js'
import { applicationMeter, measureAgents, measureCommits } from '../telemetry/metrics.js'
import type { AnswerExchange } from '../transports/exchange.js'
import { Heartbeats } from '../transports/sse.js'
import { type BindingHandler, parameterHeaders } from '../transports/transport.js'
import { type AgentMember, createMember, type PortFacts, type SharedDeps } from './agent-member.js'
import { createStripBase, type ServedPaths, settleBasePath } from './base-path.js'
import { createCardSigning } from './card-forms.js'
import { createCors } from './cors.js'
import type { Endpoint } from './endpoints.js'
import { type HostedFetch, toFetch } from './fetch.js'
import { assertEndpoints, closeEndpoints, createEndpoints } from './guarded-endpoints.js'
import { createReadiness } from './health.js'
import { createHostCheck, createOriginCheck, type HostCheck, hostFault } from './hosts.js'
import { limitAdmission } from './limit-admission.js'
import { settleLimits } from './limits.js'
import { type Agents, type Mount, mountsOf, portNames, reserved } from './mounts.js'
import { observeCalls } from './observe-calls.js'
import { type OfferedDialects, offeredDialects } from './offered-dialects.js'
import { closeOptions, type SettledOptions } from './options.js'
import { processIdentity } from './process-identity.js'
import { protectedResources } from './protected-resource.js'
import { createNotFound, createOutsideBaseRefusal, createRefusal, createRouter } from './router.js'
import { toEndpoint } from './routes.js'
import { type CurrentCards, createJwksServer } from './well-known.js'

/** Agents as a function from `Request` to `Response`, with their operations. */
export interface FetchHandler {
  /**
   * Answers a request. Pass the connection if you have it: it supplies the client certificate and the address. Deno and
   * Bun may call this function directly: `Bun.serve({ fetch: handler.fetch })`.
   */
  readonly fetch: HostedFetch
  /** The operations of each agent, by name: for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** For operators: deliveries to webhooks that were given up. */
  readonly push: PushOperations
  /**
   * Supplies the credential that a task in AUTH_REQUIRED waits for, from any source; the task continues. `agent` is the
   * agent's name, required if there are several.
   */
  provideCredential(provided: ProvidedCredential & { readonly agent?: string }): Promise<void>
  /** The name and the address of each agent. */
  readonly agents: readonly { readonly name: string; readonly url: string }[]
  /** The mount path of each agent. */
  readonly mounts: readonly Mount[]
  /** Stops admitting calls, waits for running turns up to the deadline, hands over the rest, closes its own store. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
}

export interface Assembly extends FetchHandler {
  /** Does the same as `fetch`, without `Request` and `Response`. */
  readonly answer: AnswerExchange
  /** Handlers for transports other than HTTP, by mount path. */
  readonly handlers: ReadonlyMap<string, BindingHandler>
  /** Authenticates a request. Absent: every caller is `anonymous`. */
  readonly admit: Admit | undefined
  /** Absent: calls may name any host. */
  readonly isOwnHost: HostCheck | undefined
  /** Returns the current card of each agent for registries, by mount path. */
  readonly registered: ReadonlyMap<string, () => Promise<object>>
}

export async function assemble(agents: Agents, options: SettledOptions, port: PortFacts): Promise<Assembly> {
  const { store, signer } = port
  assertSupported(options, store)
  await loadTelemetry()
  const mounts = mountsOf(agents).map((mount) => ({ ...mount, agent: servableOn(store, mount.agent, options.log) }))
  const offered = offeredDialects(options.dialects, options)
  assertTenants(options, mounts, offered)
  const security = options.auth === undefined || options.auth === 'none' ? [] : requirementsOf(options.auth)
  if (options.protectCard && security.length === 0)
    throw new TypeError("`protectCard` needs `auth`: write `auth: [apiKey('…')]`")
  const limits = settleLimits(options.limits, security.length > 0)
  const admit = limitAdmission(security, limits)
  const url = withoutTrailingSlashes(options.publicUrl ?? `http://localhost${settleBasePath(options.basePath)}`)
  const own = [...(options.endpoints ?? []), ...(options.routes ?? []).map(toEndpoint)]
  assertEndpoints(own)
  const resources = protectedResources(own, { url, security })
  // Last, so that a route of the application wins.
  const endpoints = [...own, ...[...resources.values()].map(({ endpoint }) => endpoint)]
  const stripBase = createStripBase(options, url, servedPaths(options, endpoints, mounts, offered))
  const isOwnHost = createHostCheck({ ...options, publicUrl: url })
  const isFromHere = createOriginCheck({ origins: options.cors ?? [], url, isOwnHost })
  const owner = processIdentity()
  const push = await pushOf(mounts, { options, store, owner, url, offered, signJwt: signer?.signJwt })
  const credentialHeaders = [...new Set(schemesOf(security).flatMap(({ headers = [] }) => headers))]
  const shared: SharedDeps = {
    options,
    store,
    security,
    admit,
    tenants: new Set(options.tenants),
    limits,
    vary: [...credentialHeaders, parameterHeaders.version].join(', '),
    offered,
    heartbeats: new Heartbeats(options.heartbeatMs ?? 15_000),
    owner,
    url,
    isFromHere,
    isAlone: mounts.length === 1,
    port,
    sign: createCardSigning(signer, url),
    push,
    meter: port.meter ?? applicationMeter(),
    services: new Map(),
  }
  const members: AgentMember[] = []
  try {
    for (const mount of mounts) members.push(await createMember(mount, shared))
    await Promise.all(members.map(({ engine }) => engine.start()))
    if (mounts.some(({ agent }) => agent.card.capabilities?.pushNotifications)) push.start()
  } catch (error) {
    await Promise.all(members.map(({ engine }) => engine.drain(0)))
    await push.close(0)
    throw error
  }
  const stopMeasuring = measure(shared, members)
  const observeOthers = observeCalls('', { log: options.log, audit: options.audit })
  const refuse = createRefusal(observeOthers)
  const answer = createRouter({
    agents: new Map(members.map(({ mount, answer }) => [mount.path, answer])),
    stripBase,
    outsideBase: createOutsideBaseRefusal(refuse),
    hostFault: options.allowedHosts && ((exchange) => hostFault(exchange, isOwnHost)),
    refuse,
    notFound: createNotFound(admit, refuse),
    endpoints: createEndpoints({
      endpoints,
      agents: members.map(({ mount, card, handler }) => ({ card, url: `${url}${mount.path}`, handler })),
      limits: limits.request,
      heartbeats: shared.heartbeats,
      observe: observeOthers,
      admit,
      isFromHere,
      resources,
      log: options.log,
    }),
    isReady: createReadiness(store, () => members.some(({ engine }) => engine.isDraining)),
    addCors: createCors({ origins: options.cors ?? [], credentialHeaders }),
    ...(signer && { jwks: createJwksServer(signer) }),
  })
  return {
    fetch: toFetch(answer),
    answer,
    agents: mounts.map(({ agent, path }) => ({ name: agent.card.name, url: `${url}${path}` })),
    mounts,
    services: shared.services,
    push: push.operations,
    admit,
    isOwnHost: options.allowedHosts && isOwnHost,
    handlers: new Map(members.map(({ mount, handler }) => [mount.path, handler])),
    registered: new Map(
      members.flatMap(({ mount, cards }) => (cards.first.registered ? [[mount.path, registeredIn(cards)]] : [])),
    ),
    provideCredential: async ({ agent, ...provided }) => {
      const named = members.filter(({ mount }) => agent === undefined || mount.agent.card.name === agent)
      const [member, ...others] = named
      if (!member || others.length > 0) throw new TypeError(notOneAgent(agent))
      await member.engine.provideCredential(provided)
    },
    async close(closing = {}) {
      assertOptions('close', closing, closeOptions)
      const { deadlineMs = 10_000 } = closing
      const begunMs = performance.now()
      await closeEndpoints(endpoints, { deadlineMs, log: options.log })
      await Promise.all(
        members.map(({ engine }) => engine.drain(Math.max(0, deadlineMs - (performance.now() - begunMs)))),
      )
      // Delivers the final events of the turns that have just ended.
      await push.close(deadlineMs - (performance.now() - begunMs))
      stopMeasuring()
    },
  }
}

export function notOneAgent(agent: string | undefined): string {
  return agent === undefined ? 'Several agents are served here: name the one that asked' : `No agent is called ${agent}`
}

async function pushOf(
  mounts: readonly Mount[],
  {
    options,
    url,
    offered,
    ...shared
  }: Pick<SharedDeps, 'options' | 'store' | 'owner' | 'url' | 'offered'> & Pick<PushDeps, 'signJwt'>,
): Promise<Push> {
  return createPush(
    {
      ...shared,
      agents: mounts.map(({ agent }) => agent.card.name),
      // All dialects: a webhook outlives the dialect it was registered in.
      dialects: dialectsByName([...offered.recognised, ...offered.pinned.values()]),
      addressOf: (name) => `${url}${mounts.find(({ agent }) => agent.card.name === name)?.path ?? ''}`,
      log: options.log,
    },
    options.push,
  )
}

function servableOn(store: CompleteStore, agent: Agent, log: Log): Agent {
  const servable = agentOn(store, agent)
  if (servable !== agent) {
    const message = 'The store keeps no webhooks (`deliveries`): push notifications are not offered'
    log({ level: 'warn', message, agent: agent.card.name })
  }
  return servable
}

/** Throws for options without effect on this store. Defaults of these options have no effect either, and are allowed. */
function assertSupported({ limits, retention = {} }: SettledOptions, store: CompleteStore): void {
  const { endedTasksMs, maxEndedTasks, endedEventsMs } = retention
  const { bytesPerCaller = Number.POSITIVE_INFINITY } = limits ?? {}
  const isLimited = bytesPerCaller !== Number.POSITIVE_INFINITY
  const isRemoving = [endedTasksMs, maxEndedTasks, endedEventsMs].some((each) => each !== undefined)
  if (isLimited && !supports(store, 'bytesOf')) throw new TypeError(unsupported('limits.bytesPerCaller', 'bytesOf'))
  if (isRemoving && !supports(store, 'expire')) throw new TypeError(unsupported('advanced.retention', 'expire'))
}

function unsupported(option: string, member: string): string {
  return `\`${option}\` has no effect: the store has no \`${member}\`. Implement \`${member}\`, or remove the option`
}

/** Every later card has a form for registries if the first one had. */
function registeredIn({ now, first }: CurrentCards): () => Promise<object> {
  return async () => (await now()).registered ?? first.registered ?? {}
}

/** Returns a function that stops the measurement. */
function measure({ meter, store, port }: SharedDeps, members: readonly AgentMember[]): () => void {
  if (!meter) return () => undefined
  const agents = members.map(({ mount, engine }) => ({ name: mount.agent.card.name, stats: () => engine.stats() }))
  const stopAgents = measureAgents(meter, store, agents, stallsOutsideHandlers)
  const stopCommits = port.meter ? undefined : measureCommits(meter, store)
  return () => {
    stopAgents()
    stopCommits?.()
  }
}

function assertTenants({ tenants = [] }: SettledOptions, mounts: readonly Mount[], { pinned }: OfferedDialects): void {
  for (const tenant of tenants) {
    if (reserved.has(tenant)) throw new TypeError(`A tenant cannot be called ${tenant}: /${tenant} is reserved`)
    if (mounts.some(({ path }) => path === `/${tenant}`))
      throw new TypeError(`A tenant cannot be called ${tenant}: an agent is mounted at /${tenant}`)
    if ([...pinned.keys()].some((path) => path.split('/')[1] === tenant))
      throw new TypeError(`A tenant cannot be called ${tenant}: a dialect is pinned below /${tenant}`)
  }
}

function servedPaths(
  { tenants = [] }: SettledOptions,
  endpoints: readonly Endpoint[],
  mounts: readonly Mount[],
  { recognised, pinned }: OfferedDialects,
): ServedPaths {
  const ofDialects = recognised.flatMap(({ jsonrpc, rest }) => [
    ...(jsonrpc?.paths ?? []),
    ...(rest?.routes ?? []).map(({ path }) => path),
  ])
  const ofAgent = ['', ...tenants.map((tenant) => `/${encodeURIComponent(tenant)}`), ...pinned.keys(), ...ofDialects]
  return {
    exact: mounts.flatMap((mount) => ofAgent.map((path) => mount.path + path)),
    trees: [
      ...portNames.map((name) => `/${name}`),
      // The path `/` matches one page only, and the base path is never the root.
      ...endpoints.flatMap(({ paths }) => paths).filter((path) => path !== '/'),
    ],
  }
}
