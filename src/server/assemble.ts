/** Assembles a server: engines on a store, one endpoint per agent, routing by path, health, CORS. */
import type { Meter } from '@opentelemetry/api'
import type { Admit } from '../auth/admit.js'
import { type Requirement, requirementsOf, schemesOf } from '../auth/requirement.js'
import type { DialectName } from '../dialects/dialect.js'
import { dialectsByName, newestDialect } from '../dialects/servers.js'
import type { Agent } from '../engine/agent.js'
import { agentOn, createEngine, type Engine, type EngineOptions } from '../engine/engine.js'
import { stallsOutsideHandlers } from '../engine/execution/handler-watch.js'
import type { EngineSettings } from '../engine/settings.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Clock } from '../model/clock.js'
import type { Log } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService, Caller } from '../model/service.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { createPush, type Push, type PushDeps } from '../push/create-push.js'
import type { Signer } from '../signing/signer.js'
import type { CompleteStore } from '../stores/store.js'
import { applicationMeter, measureAgents, measureCalls, measureCommits } from '../telemetry/metrics.js'
import { traceCalls } from '../telemetry/trace-calls.js'
import { applicationTracing } from '../telemetry/tracing.js'
import type { CallObserver } from '../transports/call-record.js'
import { BodyInterrupted } from '../transports/read-json.js'
import { Heartbeats } from '../transports/sse.js'
import { type BindingHandler, parameterHeaders } from '../transports/transport.js'
import { type AgentEndpoint, createAgentEndpoint } from './agent-endpoint.js'
import { createStripBase, type ServedPaths, settleBasePath } from './base-path.js'
import { completeCard } from './card.js'
import { boundedEdit, createCardSigning, encodeCards, type SignCard } from './card-forms.js'
import { continueContext, guardSkills } from './guard-skills.js'
import type { FetchHandler } from './handler.js'
import { createReadiness } from './health.js'
import { createHostCheck, createOriginCheck, type OriginCheck } from './hosts.js'
import { type SettledLimits, settleLimits } from './limits.js'
import { type Agents, type Mount, mountsOf, portNames, reserved } from './mounts.js'
import { observeCalls } from './observe-calls.js'
import { type OfferedDialects, offeredDialects } from './offered-dialects.js'
import { closeOptions, type SettledOptions } from './options.js'
import { isProcessDead, processIdentity } from './process-identity.js'
import { limitAdmission } from './rate-limit.js'
import { createHostRefusal, createNotFound, createOutsideBaseRefusal, createRouter } from './router.js'
import { createRoutes } from './routes.js'
import { type CurrentCards, createJwksServer, currentCards } from './well-known.js'

/** Dependencies of an assembly, and facts about the port that only `serve` knows. */
export interface PortFacts {
  /** The caller closes it, because several ports may share it. */
  readonly store: CompleteStore
  readonly signer: Signer | undefined
  /** For tests. Default: the clock of the system. */
  readonly clock?: Clock
  /** Address of gRPC on this port, as `host:port`. */
  readonly grpcAuthority?: string
  readonly registeredFor?: DialectName
  /** Receives the metrics. The commits of the store are measured already. */
  readonly meter?: Meter | undefined
}

export interface Assembly extends FetchHandler {
  /** Handlers for transports other than HTTP, by mount path. */
  readonly endpoints: ReadonlyMap<string, BindingHandler>
  /** Authenticates a request. Absent: every caller is `anonymous`. */
  readonly admit: Admit | undefined
  /** Returns the current card of each agent for registries, by mount path. */
  readonly registered: ReadonlyMap<string, () => Promise<object>>
}

/** Shared by all agents of one assembly. */
interface Shared {
  readonly options: SettledOptions
  readonly store: CompleteStore
  /** The requirements, of which a caller must satisfy one. Empty: none. */
  readonly security: readonly Requirement[]
  readonly admit: Admit | undefined
  readonly tenants: ReadonlySet<string>
  readonly limits: SettledLimits
  readonly vary: string
  readonly offered: OfferedDialects
  readonly heartbeats: Heartbeats
  readonly owner: string
  readonly url: string
  readonly isFromHere: OriginCheck
  readonly isAlone: boolean
  readonly port: PortFacts
  readonly sign: SignCard
  readonly push: Push
  readonly meter: Meter | undefined
  /** Filled while the agents are created; they look each other up at run time. */
  readonly services: Map<string, AgentService>
}

interface Member {
  readonly mount: Mount
  readonly engine: Engine
  readonly endpoint: BindingHandler
  readonly answer: AgentEndpoint
  readonly cards: CurrentCards
}

export async function assemble(agents: Agents, options: SettledOptions, port: PortFacts): Promise<Assembly> {
  const { store, signer } = port
  const mounts = mountsOf(agents).map((mount) => ({ ...mount, agent: servableOn(store, mount.agent, options.log) }))
  const offered = offeredDialects(options.dialects, options)
  assertTenants(options, mounts, offered)
  const security = options.auth === undefined || options.auth === 'none' ? [] : requirementsOf(options.auth)
  if (options.protectCard && security.length === 0)
    throw new TypeError("`protectCard` needs `auth`: write `auth: [apiKey('…')]`")
  const limits = settleLimits(options.limits, security.length > 0)
  const admit = limitAdmission(security, limits)
  const url = withoutTrailingSlashes(options.publicUrl ?? `http://localhost${settleBasePath(options.basePath)}`)
  const stripBase = createStripBase(options, url, servedPaths(options, mounts, offered))
  const isOwnHost = createHostCheck({ ...options, publicUrl: url })
  const isFromHere = createOriginCheck({ origins: options.cors ?? [], url, isOwnHost })
  const owner = processIdentity()
  const push = await pushOf(mounts, { options, store, owner, url, offered, signJwt: signer?.signJwt })
  const credentialHeaders = [...new Set(schemesOf(security).flatMap(({ headers = [] }) => headers))]
  const shared: Shared = {
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
  const members: Member[] = []
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
  const fetch = createRouter({
    endpoints: new Map(members.map(({ mount, answer }) => [mount.path, answer])),
    origins: options.cors ?? [],
    credentialHeaders,
    stripBase,
    outsideBase: createOutsideBaseRefusal(observeOthers),
    refuseHost: options.allowedHosts && createHostRefusal(isOwnHost, observeOthers),
    notFound: createNotFound(admit, observeOthers),
    routes: createRoutes({
      routes: options.routes ?? [],
      endpoints: new Map(members.map(({ mount, endpoint }) => [mount.agent.card.name, endpoint])),
      maxBodyBytes: limits.request.bodyBytes,
      observe: observeOthers,
      admit,
      isFromHere,
      log: options.log,
    }),
    isReady: createReadiness(store, () => members.some(({ engine }) => engine.isDraining)),
    ...(signer && { jwks: createJwksServer(signer) }),
  })
  return {
    fetch,
    agents: mounts.map(({ agent, path }) => ({ name: agent.card.name, url: `${url}${path}` })),
    mounts,
    services: shared.services,
    push: push.operations,
    admit,
    endpoints: new Map(members.map(({ mount, endpoint }) => [mount.path, endpoint])),
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
      await Promise.all(members.map(({ engine }) => engine.drain(deadlineMs)))
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
  }: Pick<Shared, 'options' | 'store' | 'owner' | 'url' | 'offered'> & Pick<PushDeps, 'signJwt'>,
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

async function createMember(mount: Mount, shared: Shared): Promise<Member> {
  const { agent } = mount
  const { options, admit, security, offered, services, store, sign } = shared
  const url = `${shared.url}${mount.path}`
  const { tenants: mayUse } = options.policy ?? {}
  // With a tenant policy, only callers that may use a tenant learn its name.
  const card = cardOf(mount, shared, mayUse ? [] : [...shared.tenants])
  const cardFor = (caller: Caller): AgentCard =>
    mayUse
      ? cardOf(
          mount,
          shared,
          [...shared.tenants].filter((tenant) => mayUse(caller, tenant)),
        )
      : card
  const { registeredFor, signer } = shared.port
  const edit = boundedEdit(options.editCard)
  const encode = () => encodeCards(card, offered, { url, form: options.card, registeredFor, sign, edit })
  const cards = await currentCards(encode, signer, (error) =>
    options.log({ level: 'error', message: 'A card could not be signed again', agent: agent.card.name, error }),
  )
  const { extendedCard } = agent.card
  const given: Omit<EngineOptions, keyof EngineSettings> & Pick<EngineOptions, 'limits'> = {
    owner: shared.owner,
    isOwnerDead: isProcessDead,
    checkWebhook: shared.push.checkWebhook,
    limits: shared.limits.engine,
    store,
    ...(shared.port.clock && { clock: shared.port.clock }),
    log: options.log,
    retention: options.retention ?? { endedTasksMs: 7 * 24 * 60 * 60_000 },
    ...(options.policy?.canAccess && { canAccess: options.policy.canAccess }),
    resolve: (ref) => services.get(typeof ref === 'string' ? ref : ref.card.name) ?? options.resolve?.(ref),
    ...(extendedCard && {
      extendedCard: async ({ caller, dialect }) =>
        await sign(
          edit(await extendedCard(cardFor(caller), caller), cardVersionOf(dialect, offered)),
          newestDialect.card?.signing ? [newestDialect.card.signing] : [],
        ),
    }),
  }
  const engine = createEngine(agent, { ...options.engine, ...given })
  const continued = continueContext(engine)
  const service = options.wrap ? options.wrap(continued, agent) : continued
  services.set(agent.card.name, service)
  const { log, logCalls, audit } = options
  const metrics = shared.meter && measureCalls(shared.meter, agent.card.name)
  const tracing = applicationTracing()
  const span = tracing && traceCalls(tracing, agent.card.name)
  const observe = observeCalls(agent.card.name, { log, logCalls, audit, metrics, span })
  const endpoint = endpointOf(engine, guardSkills(service, agent, security), card, observe, shared)
  const answer = createAgentEndpoint({
    card,
    url,
    offered,
    endpoint,
    cards,
    startedMs: Date.now(),
    admit,
    tenants: shared.tenants,
    isFromHere: shared.isFromHere,
    protectsCard: options.protectCard === true,
  })
  return { mount, engine, endpoint, answer, cards }
}

/** The version that `editCard` sees: that of the caller's dialect. */
function cardVersionOf(name: string | undefined, { recognised, pinned }: OfferedDialects): string {
  const dialect = [...recognised, ...pinned.values()].find((each) => each.name === name) ?? newestDialect
  return dialect.cardVersion ?? ''
}

/** Every later card has a form for registries if the first one had. */
function registeredIn({ now, first }: CurrentCards): () => Promise<object> {
  return async () => (await now()).registered ?? first.registered ?? {}
}

/** Returns a function that stops the measurement. */
function measure({ meter, store, port }: Shared, members: readonly Member[]): () => void {
  if (!meter) return () => undefined
  const agents = members.map(({ mount, engine }) => ({ name: mount.agent.card.name, stats: () => engine.stats() }))
  const stopAgents = measureAgents(meter, store, agents, stallsOutsideHandlers)
  const stopCommits = port.meter ? undefined : measureCommits(meter, store)
  return () => {
    stopAgents()
    stopCommits?.()
  }
}

function cardOf(
  { agent, path }: Mount,
  { url, offered, security, port: { grpcAuthority }, isAlone }: Shared,
  tenants: readonly string[],
): AgentCard {
  const name = path.slice(1)
  return completeCard(agent, {
    url: `${url}${path}`,
    dialects: offered.recognised,
    tenants,
    security,
    ...(grpcAuthority !== undefined && {
      grpc: isAlone || name === '' ? { authority: grpcAuthority } : { authority: grpcAuthority, tenant: name },
    }),
  })
}

function endpointOf(
  engine: Engine,
  service: AgentService,
  card: AgentCard,
  observe: CallObserver | undefined,
  shared: Shared,
): BindingHandler {
  const { options, offered, heartbeats, tenants, sign } = shared
  const { log } = options
  const agent = card.name
  return {
    service,
    dialects: offered.recognised,
    newestDialect,
    assumeV1: options.assumeV1 ?? true,
    hasTenant: (tenant, caller) => tenants.has(tenant) && (options.policy?.tenants?.(caller, tenant) ?? true),
    limits: shared.limits.request,
    vary: shared.vary,
    heartbeats,
    newId: () => crypto.randomUUID(),
    createdIn: (taskId, incoming) => engine.createdIn(taskId, incoming),
    extensions: (card.capabilities.extensions ?? []).flatMap(({ uri, required }) =>
      uri ? [{ uri, isRequired: required === true }] : [],
    ),
    // The engine signs the newest dialect's card; other cards have other texts.
    signCard: async (encoded, { name, card }) =>
      card?.signing && name !== newestDialect.name
        ? JSON.stringify(await sign(JSON.parse(encoded) as object, [card.signing]))
        : encoded,
    ...(observe && { observe }),
    onError: (error) => {
      if (error.code === 'INTERNAL_ERROR')
        log({ level: 'error', message: 'A call failed', agent, error: error.cause ?? error })
      else if (error instanceof BodyInterrupted)
        log({ level: 'debug', message: error.message, agent, error: error.cause })
    },
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
  { tenants = [], routes = [] }: SettledOptions,
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
    // The route `/` matches one page only, and the base path is never the root.
    trees: [...portNames.map((name) => `/${name}`), ...routes.map(({ path }) => path).filter((path) => path !== '/')],
  }
}
