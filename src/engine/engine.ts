/**
 * An engine runs one agent on a store and implements the eleven operations. Every change of a task is an event in its log
 * before a caller sees it.
 *
 * Three modules share the work. Each takes its dependencies explicitly, and imports point from left to right only:
 *
 *   admission/ (send, continue, idempotency)  →  execution/ (runs, leases, writers)  →  following/ (topics, streams, reads)
 */
import type { AgentCard } from '../model/agent-card.js'
import type { Clock } from '../model/clock.js'
import { A2AError } from '../model/errors.js'
import type { Log } from '../model/log.js'
import { assertOptions, type NamesOf, namesIn } from '../model/option-names.js'
import type { AgentService, CallContext } from '../model/service.js'
import { completeStore, storeKind, supports } from '../stores/complete-store.js'
import type { Store } from '../stores/store.js'
import type { EngineStats } from '../telemetry/engine-stats.js'
import { type CanAccess, TaskAccess } from './access.js'
import { Admission } from './admission/admit.js'
import { Idempotency } from './admission/idempotency.js'
import { credentialNames, type ProvidedCredential, provideCredential } from './admission/provide-credential.js'
import { type CheckWebhook, PushConfigs } from './admission/push-configs.js'
import { Sends } from './admission/send.js'
import type { Agent, AgentRef } from './agent.js'
import { cancelTask } from './execution/cancel.js'
import { Execution } from './execution/execution.js'
import type { Run } from './execution/run.js'
import { CallerBytes, RunningTasks } from './execution/usage.js'
import { Following } from './following/following.js'
import { guardedStore } from './guarded-store.js'
import { defaultEngineLimits, type EngineLimits } from './limits.js'
import { skillSchemasOf } from './message-checks.js'
import {
  defaultSettings,
  type EngineSettings,
  type Retention,
  retentionNames,
  settingNames,
  startRetention,
} from './settings.js'
import { systemClock } from './system-clock.js'

/** Options of `createEngine`. Only the store is required. */
export interface EngineOptions extends Partial<Omit<EngineSettings, 'limits'>> {
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<EngineLimits>
  readonly store: Store
  readonly clock?: Clock
  /** Receives warnings and errors that callers do not see. Default: they are dropped. */
  readonly log?: Log
  /** Identifies this process in leases. Default: a random name. */
  readonly owner?: string
  /** Whether the process that holds a lease is known to be dead. Default: never. */
  readonly isOwnerDead?: (owner: string) => boolean
  /** When ended tasks are removed. Default: never. */
  readonly retention?: Retention
  /** Finds the agents that `turn.call` names. */
  readonly resolve?: (ref: AgentRef) => AgentService | undefined
  /** The card for authenticated callers. */
  readonly extendedCard?: (context: CallContext) => Promise<AgentCard>
  /** Rejects with a message for the caller when the server must not call a webhook's URL. Default: all URLs are accepted. */
  readonly checkWebhook?: CheckWebhook
  /** Decides whether callers may use tasks of others. Default: they may not. */
  readonly canAccess?: CanAccess
}

/** An agent's operations, with control over its background work. */
export interface Engine extends AgentService {
  /** Takes over abandoned tasks and begins to look for more. */
  start(): Promise<void>
  /** Stops admitting messages, lets turns finish until the deadline, hands the rest over and ends all streams (E-12). */
  drain(deadlineMs: number): Promise<void>
  /** The dialect a task was created in; undefined if it does not exist or the caller may not see it. */
  createdIn(taskId: string, scope: Pick<CallContext, 'caller' | 'tenant'>): Promise<string | undefined>
  /** Provides the credential that a task in AUTH_REQUIRED waits for. Resolves when its turn has begun. */
  provideCredential(provided: ProvidedCredential): Promise<void>
  /** True from the start of a drain. */
  readonly isDraining: boolean
  /** Counters and gauges of this engine. */
  stats(): EngineStats
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

/** The agent as the store can serve it: without push notifications if the store has no `deliveries`. */
export function agentOn(store: Store, agent: Agent): Agent {
  const { capabilities } = agent.card
  if (!capabilities?.pushNotifications || supports(store, 'deliveries')) return agent
  return { ...agent, card: { ...agent.card, capabilities: { ...capabilities, pushNotifications: false } } }
}

/** Creates an engine for an agent. Call `start` before the first operation, and `drain` before the store is closed. */
export function createEngine(given: Agent, options: EngineOptions): Engine {
  assertOptions('createEngine', options, optionNames)
  const complete = completeStore(options.store)
  const agent = agentOn(complete, given)
  const { name } = agent.card
  const settings = settingsOf(options)
  const { limits } = settings
  const clock = options.clock ?? systemClock()
  const log = options.log ?? (() => undefined)
  const counts = { storeFailures: 0, expiredTasks: 0 }
  const store = guardedStore(complete, (error) => {
    counts.storeFailures += 1
    log({ level: 'error', message: 'The store failed', agent: name, error })
  })
  /** Logs unexpected errors and converts them for the caller. */
  const toCallError = (error: unknown, taskId?: string): A2AError => {
    if (!(error instanceof A2AError))
      log({ level: 'error', message: 'The engine failed', agent: name, ...(taskId && { taskId }), error })
    return A2AError.from(error)
  }
  const rethrow = (error: unknown): never => {
    throw toCallError(error)
  }

  const schemas = skillSchemasOf(agent)
  const access = new TaskAccess({ agent: name, log, canAccess: options.canAccess })
  const running = new RunningTasks<Run>(limits)
  const callerBytes = new CallerBytes(store, name, limits.bytesPerCaller)
  const following = new Following({ agent, store, limits, running, access, toCallError })
  const { reader, topics } = following
  const execution = new Execution({
    agent,
    store,
    clock,
    log,
    settings,
    schemas,
    leaseOwner: options.owner ?? `engine-${clock.newId()}`,
    isOwnerDead: options.isOwnerDead ?? (() => false),
    resolve: options.resolve,
    earlier: (task, limits) => reader.earlier(task, limits),
    topics,
    running,
    callerBytes,
    toCallError,
  })
  const pushConfigs = new PushConfigs({
    agent,
    deliveries: store.deliveries,
    clock,
    reader,
    checkWebhook: options.checkWebhook,
    pushSecrets: settings.pushSecrets,
    maxConfigsPerTask: limits.pushConfigsPerTask,
  })
  const idempotency = new Idempotency({ agent: name, store, access, settings })
  const admission = new Admission({
    agent,
    store,
    clock,
    limits,
    schemas,
    access,
    callerBytes,
    running,
    execution,
    topics,
    idempotency,
    pushConfigs,
  })
  const sends = new Sends({ agent, store, admission, following })
  const canceling = { agent: name, store, clock, settings, access, running, execution, following }
  let stopRetention: (() => void) | undefined

  /** Operations reject with `A2AError` only. Streams convert their errors themselves. */
  const unary =
    <Request, Response>(work: (request: Request, context: CallContext) => Promise<Response>) =>
    (request: Request, context: CallContext): Promise<Response> =>
      work(request, context).catch(rethrow)
  return {
    sendMessage: unary((request, context) => sends.sendMessage(request, context)),
    sendStreamingMessage: (request, context) => sends.sendStreamingMessage(request, context),
    getTask: unary((request, context) => reader.getTask(request, context)),
    listTasks: unary((request, context) => reader.listTasks(request, context)),
    cancelTask: unary((request, context) => cancelTask(canceling, request, context)),
    subscribeToTask: (request, context) => following.subscribe(request, context),
    createTaskPushNotificationConfig: unary((request, context) => pushConfigs.create(request, context)),
    getTaskPushNotificationConfig: unary((request, context) => pushConfigs.get(request, context)),
    listTaskPushNotificationConfigs: unary((request, context) => pushConfigs.list(request, context)),
    deleteTaskPushNotificationConfig: unary((request, context) => pushConfigs.delete(request, context)),
    getExtendedAgentCard: unary((_request, context) => extendedCardOf(agent, options.extendedCard, context)),
    createdIn: (taskId, scope) => reader.createdIn(taskId, scope),
    async provideCredential(provided) {
      assertOptions('provideCredential', provided, credentialNames)
      await provideCredential({ agent: name, store, running, execution }, provided).catch(rethrow)
    },
    get isDraining() {
      return execution.isDraining
    },
    stats: () => ({
      runningTasks: running.total,
      waitingMessages: running.all().reduce((sum, { writer }) => sum + writer.fold.waiting.length, 0),
      openStreams: following.openStreams,
      streamLag: topics.lag,
      ...counts,
      fencedRuns: running.fencedRuns,
      ...execution.stallCounts,
      leaseMs: settings.leaseMs,
    }),
    async start() {
      await execution.start()
      const onExpired = (tasks: number) => {
        counts.expiredTasks += tasks
      }
      if (options.retention)
        stopRetention = startRetention(
          { agent: name, store, clock, onExpired, onError: toCallError },
          options.retention,
        )
    },
    async drain(deadlineMs) {
      stopRetention?.()
      await execution.drain(deadlineMs)
      topics.close()
      await agent.onDrained?.()
    },
  }
}

function settingsOf(options: EngineOptions): EngineSettings {
  const settings = { ...defaultSettings }
  for (const name of Object.keys(defaultSettings) as (keyof EngineSettings)[]) {
    if (options[name] !== undefined) Object.assign(settings, { [name]: options[name] })
  }
  return { ...settings, limits: { ...defaultEngineLimits, ...options.limits } }
}

async function extendedCardOf(
  { card }: Agent,
  extendedCard: EngineOptions['extendedCard'],
  context: CallContext,
): Promise<AgentCard> {
  if (card.capabilities?.extendedAgentCard !== true) {
    throw new A2AError('UNSUPPORTED_OPERATION', 'This agent has no extended card', {
      metadata: { capability: 'extendedAgentCard' },
    })
  }
  if (!extendedCard)
    throw new A2AError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'This agent declares an extended card but has none')
  return await extendedCard(context)
}
