/** One agent of a server: its engine, its cards and its endpoint. */
import type { Meter } from '@opentelemetry/api'
import type { Admit } from '../auth/admit.js'
import type { Requirement } from '../auth/requirement.js'
import type { DialectName } from '../dialects/dialect.js'
import { newestDialect } from '../dialects/servers.js'
import { createEngine, type Engine, type EngineOptions } from '../engine/engine.js'
import type { EngineSettings } from '../engine/settings.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Clock } from '../model/clock.js'
import type { AgentService, Caller } from '../model/service.js'
import type { Push } from '../push/create-push.js'
import type { Signer } from '../signing/signer.js'
import type { CompleteStore } from '../stores/store.js'
import { measureCalls } from '../telemetry/metrics.js'
import { traceCalls } from '../telemetry/trace-calls.js'
import { applicationTracing } from '../telemetry/tracing.js'
import type { CallObserver } from '../transports/call-record.js'
import { BodyInterrupted } from '../transports/read-json.js'
import type { Heartbeats } from '../transports/sse.js'
import type { BindingHandler } from '../transports/transport.js'
import { type AgentEndpoint, createAgentEndpoint } from './agent-endpoint.js'
import { completeCard } from './card.js'
import { boundedEdit, encodeCards, type SignCard } from './card-forms.js'
import { continueContext, guardSkills } from './guard-skills.js'
import type { OriginCheck } from './hosts.js'
import type { SettledLimits } from './limits.js'
import type { Mount } from './mounts.js'
import { observeCalls } from './observe-calls.js'
import type { OfferedDialects } from './offered-dialects.js'
import type { SettledOptions } from './options.js'
import { isProcessDead } from './process-identity.js'
import { type CurrentCards, currentCards } from './well-known.js'

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

/** Dependencies that all agents of one assembly share. */
export interface SharedDeps {
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

/** An agent in an assembly. */
export interface AgentMember {
  readonly mount: Mount
  /** The card in its v1.0 form, as every caller may read it. */
  readonly card: AgentCard
  readonly engine: Engine
  readonly handler: BindingHandler
  readonly answer: AgentEndpoint
  readonly cards: CurrentCards
}

/** Creates the engine, the cards and the endpoint of an agent. */
export async function createMember(mount: Mount, shared: SharedDeps): Promise<AgentMember> {
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
  const handler = handlerOf(engine, guardSkills(service, agent, security), card, observe, shared)
  const answer = createAgentEndpoint({
    card,
    url,
    offered,
    handler,
    cards,
    startedMs: Date.now(),
    admit,
    tenants: shared.tenants,
    isFromHere: shared.isFromHere,
    protectsCard: options.protectCard === true,
  })
  return { mount, card, engine, handler, answer, cards }
}

/** The version that `editCard` sees: that of the caller's dialect. */
function cardVersionOf(name: string | undefined, { recognised, pinned }: OfferedDialects): string {
  const dialect = [...recognised, ...pinned.values()].find((each) => each.name === name) ?? newestDialect
  return dialect.cardVersion ?? ''
}

function cardOf(
  { agent, path }: Mount,
  { url, offered, security, port: { grpcAuthority }, isAlone }: SharedDeps,
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

function handlerOf(
  engine: Engine,
  service: AgentService,
  card: AgentCard,
  observe: CallObserver | undefined,
  shared: SharedDeps,
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
