/**
 * Runs one agent durably: the eleven operations on a store. Everything a task goes through is an
 * event in its log before anybody sees it.
 */
import type { AgentCard } from '../model/agent-card.js'
import type { Clock } from '../model/clock.js'
import { A2AError } from '../model/errors.js'
import type { Log } from '../model/log.js'
import { assertOptions, type NamesOf, namesIn } from '../model/option-names.js'
import type { AgentService, CallContext } from '../model/service.js'
import { completeStore, supports } from '../stores/complete-store.js'
import type { Store } from '../stores/store.js'
import { storeKind } from '../stores/store-kind.js'
import type { EngineStats } from '../telemetry/engine-stats.js'
import type { CanAccess } from './access.js'
import { credentialNames, type ProvidedCredential, provideCredential } from './admission/provide-credential.js'
import type { CheckWebhook } from './admission/push-configs.js'
import { createPushConfig, deletePushConfig, getPushConfig, listPushConfigs } from './admission/push-configs.js'
import { sendMessage, sendStreamingMessage } from './admission/send.js'
import type { Agent, AgentRef } from './agent.js'
import { cancelTask } from './execution/cancel.js'
import { LeaseKeeper } from './execution/execution.js'
import { watchStalls } from './execution/handler-watch.js'
import { atMost } from './execution/stop.js'
import { subscribeToTask } from './following/following.js'
import { createdIn, getTask, listTasks } from './following/task-reader.js'
import { type EngineSettings, Internals } from './internals.js'
import { defaultEngineLimits, type EngineLimits } from './limits.js'
import { schemaCheckOf } from './message-checks.js'
import { type Retention, retentionNames, settingNames, startRetention } from './settings.js'
import { systemClock } from './system-clock.js'

export interface EngineOptions extends Partial<Omit<EngineSettings, 'limits'>> {
  /** What is left out has its default. */
  readonly limits?: Partial<EngineLimits>
  readonly store: Store
  readonly clock?: Clock
  /** Where things go that no caller may see. Default: nowhere. */
  readonly log?: Log
  /** Who this process is, in leases. Default: a name of its own. */
  readonly owner?: string
  /** Whether the holder of a lease is known to be dead. Default: nobody is. */
  readonly isOwnerDead?: (owner: string) => boolean
  readonly retention?: Retention
  /** Finds the agents that `turn.call` names. */
  readonly resolve?: (ref: AgentRef) => AgentService | undefined
  /** The card for callers that have proved who they are. */
  readonly extendedCard?: (context: CallContext) => Promise<AgentCard>
  /** Rejects for webhooks that must not be called from here, in words for the caller. Default: all may be. */
  readonly checkWebhook?: CheckWebhook
  /** Lets callers at tasks that are not their own. Default: nobody. */
  readonly canAccess?: CanAccess
}

export interface Engine extends AgentService {
  /** Takes over what a dead process left behind, and begins to look for more. */
  start(): Promise<void>
  /** Stops admitting, lets turns finish up to the deadline, hands the rest over, ends all streams (E-12). */
  drain(deadlineMs: number): Promise<void>
  /** The dialect a task was created in; absent when it is not there, or not the caller's. */
  createdIn(taskId: string, scope: Pick<CallContext, 'caller' | 'tenant'>): Promise<string | undefined>
  /** Hands in what a task in AUTH_REQUIRED waits for; resolves when its turn has begun. */
  provideCredential(provided: ProvidedCredential): Promise<void>
  /** True from the first moment of a drain. */
  readonly isDraining: boolean
  /** How it is doing here. */
  stats(): EngineStats
}

const defaults: EngineSettings = {
  leaseMs: 15_000,
  cancelGraceMs: 5_000,
  stallMs: 1_000,
  idempotencyMs: 24 * 60 * 60_000,
  limits: defaultEngineLimits,
  dedupeByMessageId: false,
  cancelTwice: 'task',
  pushSecrets: 'creator',
}

const optionNames = {
  ...settingNames,
  limits: namesIn(defaultEngineLimits),
  store: storeKind,
  clock: true,
  log: true,
  owner: true,
  isOwnerDead: true,
  retention: retentionNames,
  resolve: true,
  extendedCard: true,
  checkWebhook: true,
  canAccess: true,
} satisfies NamesOf<EngineOptions>

/** The agent as it can be served on a store: without push notifications if the store keeps no webhooks. */
export function agentOn(store: Store, agent: Agent): Agent {
  const { capabilities } = agent.card
  if (!capabilities?.pushNotifications || supports(store, 'deliveries')) return agent
  return { ...agent, card: { ...agent.card, capabilities: { ...capabilities, pushNotifications: false } } }
}

export function createEngine(agent: Agent, options: EngineOptions): Engine {
  assertOptions('createEngine', options, optionNames)
  const clock = options.clock ?? systemClock()
  const store = completeStore(options.store)
  const internals = new Internals({
    agent: agentOn(store, agent),
    store,
    clock,
    log: options.log ?? (() => undefined),
    settings: settingsOf(options),
    schemas: schemaCheckOf(agent),
    owner: options.owner ?? `engine-${clock.newId()}`,
    resolve: options.resolve,
    extendedCard: options.extendedCard,
    checkWebhook: options.checkWebhook,
    canAccess: options.canAccess,
  })
  const keeper = new LeaseKeeper(internals, options.isOwnerDead ?? (() => false))
  let stopRetention: (() => void) | undefined
  let stopWatching: (() => void) | undefined

  return {
    ...operationsOf(internals),
    get isDraining() {
      return internals.isDraining
    },
    stats: () => vitalsOf(internals),
    async provideCredential(provided) {
      assertOptions('provideCredential', provided, credentialNames)
      await provideCredential(internals, provided).catch(rethrowFrom(internals))
    },
    createdIn: (taskId, scope) => createdIn(internals, taskId, scope),
    async start() {
      stopWatching = watchStalls(internals)
      await keeper.start()
      if (options.retention) stopRetention = startRetention(internals, options.retention)
    },
    async drain(deadlineMs) {
      internals.isDraining = true
      stopRetention?.()
      const running = [...internals.runs.values()].map(({ done }) => done)
      if (running.length > 0) await atMost(deadlineMs, Promise.allSettled(running))
      await keeper.stop()
      const rest = [...internals.runs.values()]
      for (const run of rest) run.stop('hand-over')
      await Promise.all(rest.map(({ done }) => done))
      for (const topic of internals.topics) topic.close()
      stopWatching?.()
      await agent.onDrained?.()
    },
  }
}

function settingsOf(options: EngineOptions): EngineSettings {
  const settings = { ...defaults }
  for (const name of Object.keys(defaults) as (keyof EngineSettings)[]) {
    if (options[name] !== undefined) Object.assign(settings, { [name]: options[name] })
  }
  return { ...settings, limits: { ...defaultEngineLimits, ...options.limits } }
}

/** Every failure leaves as an `A2AError`; streams see to that themselves. */
function operationsOf(internals: Internals): AgentService {
  type Work<Request, Response> = (internals: Internals, request: Request, context: CallContext) => Promise<Response>
  const rethrow = rethrowFrom(internals)
  const unary =
    <Request, Response>(work: Work<Request, Response>) =>
    (request: Request, context: CallContext): Promise<Response> =>
      work(internals, request, context).catch(rethrow)
  return {
    sendMessage: unary(sendMessage),
    sendStreamingMessage: (request, context) => sendStreamingMessage(internals, request, context),
    getTask: unary(getTask),
    listTasks: unary(listTasks),
    cancelTask: unary(cancelTask),
    subscribeToTask: (request, context) => subscribeToTask(internals, request, context),
    createTaskPushNotificationConfig: unary(createPushConfig),
    getTaskPushNotificationConfig: unary(getPushConfig),
    listTaskPushNotificationConfigs: unary(listPushConfigs),
    deleteTaskPushNotificationConfig: unary(deletePushConfig),
    getExtendedAgentCard: unary(getExtendedAgentCard),
  }
}

function rethrowFrom(internals: Internals): (error: unknown) => never {
  return (error) => {
    throw internals.failure(error)
  }
}

async function getExtendedAgentCard(
  { agent, extendedCard }: Internals,
  _request: unknown,
  context: CallContext,
): Promise<AgentCard> {
  if (agent.card.capabilities?.extendedAgentCard !== true) {
    throw new A2AError('UNSUPPORTED_OPERATION', 'This agent has no extended card', {
      metadata: { capability: 'extendedAgentCard' },
    })
  }
  if (!extendedCard)
    throw new A2AError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'This agent declares an extended card but has none')
  return await extendedCard(context)
}

export function vitalsOf(internals: Internals): EngineStats {
  const { runs, running, streaming, topics, counts, settings } = internals
  let waitingMessages = 0
  for (const { writer } of runs.values()) waitingMessages += writer.fold.waiting.length
  let streamLag = 0
  for (const topic of topics) streamLag = Math.max(streamLag, topic.lag)
  return {
    runningTasks: running.total,
    waitingMessages,
    openStreams: streaming.total,
    streamLag,
    ...counts,
    leaseMs: settings.leaseMs,
  }
}
