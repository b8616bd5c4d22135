/**
 * Admission: accepts a message as the first of a new task, into the queue of a running task, or as the next turn of a task
 * that waits for input. Unary and streaming sends share this code; they differ in how they read the answer.
 */

import type { Clock } from '../../model/clock.js'
import { A2AError, invalidField } from '../../model/errors.js'
import type { TurnRequest } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import { type CallContext, nativeDialect, type SendMessageRequest } from '../../model/service.js'
import { storedSizeOf } from '../../model/size-of.js'
import { isInterrupted, isTerminal, type Task } from '../../model/task.js'
import { type AcceptedMessage, TaskFold } from '../../model/task-fold.js'
import { traceContextOf } from '../../model/trace-context.js'
import { withMembers } from '../../model/with-members.js'
import type { CompleteStore, IdempotencyKey, LoadedTask, TaskKey, TaskRecord } from '../../stores/store.js'
import {
  hasEnded,
  isOwn,
  type SharedTask,
  type SharingOperation,
  sharedTaskOf,
  type TaskAccess,
  taskNotFound,
} from '../access.js'
import type { Agent } from '../agent.js'
import type { WithMessage } from '../execution/event-buffer.js'
import type { Execution } from '../execution/execution.js'
import type { Run } from '../execution/run.js'
import { shuttingDown } from '../execution/stop.js'
import type { CallerBytes, Reservation, RunningTasks } from '../execution/usage.js'
import { foldOf } from '../following/task-reader.js'
import type { Topic, Topics } from '../following/topic.js'
import {
  assertMessageSize,
  assertTaskRoom,
  assertWaitingRoom,
  type EngineLimits,
  isFull,
  storeFull,
} from '../limits.js'
import { acceptedModesOf, assertAnswer, assertInputModes, assertPush, type SkillSchemas } from '../message-checks.js'
import type { Idempotency } from './idempotency.js'
import { assertWebhook, type PushConfigs } from './push-configs.js'

interface AdmissionDeps {
  readonly agent: Agent
  readonly store: Pick<CompleteStore, 'append' | 'find' | 'load'>
  readonly clock: Clock
  readonly limits: EngineLimits
  readonly schemas: SkillSchemas | undefined
  readonly access: TaskAccess
  readonly callerBytes: CallerBytes
  readonly running: RunningTasks<Run>
  readonly execution: Pick<Execution, 'open' | 'isDraining'>
  readonly topics: Topics
  readonly idempotency: Idempotency
  readonly pushConfigs: PushConfigs
}

/** An accepted message: where its sender finds the answer. */
export interface Admitted {
  readonly taskId: string
  /** The sequence just before the sender's message. */
  readonly after: number
  /** The run, when it is in this process. */
  readonly run?: Run
  /** The run was started for this message. */
  readonly isNew?: boolean
  /** Opened before a new run begins, for a sender that streams: an answer that is not stored can only be read there. */
  readonly topic?: Topic | undefined
  /** The task at the start of the message's turn, for a sender that streams: its stream begins with the whole turn. */
  readonly opening?: { readonly task: Task; readonly seq: number; readonly turn: number } | undefined
}

/** `again`: another process wrote to the task meanwhile. */
type AdmitAttempt = Admitted | 'again'

interface Sending {
  readonly request: SendMessageRequest
  readonly context: CallContext
  readonly turnRequest: TurnRequest | undefined
  readonly idempotency: IdempotencyKey | undefined
  /** The task is visible before the first yield (E-6). */
  readonly createsTaskFirst: boolean
  /** The sender waits only for the task, which is stored before the agent runs. */
  readonly returnsImmediately: boolean
  readonly isUnary: boolean
  /** The size of the request. */
  readonly bytes: number
  /** Released when the message is part of a task, or refused. */
  readonly reservation: Reservation
}

interface Continuation {
  readonly loaded: LoadedTask
  readonly fold: TaskFold
  readonly message: Message
}

/** Attempts while other processes write to the same task. */
const maxAttempts = 100
/** The webhook in a request to send a message. */
const webhookField = 'configuration.taskPushNotificationConfig'

export class Admission {
  readonly #deps: AdmissionDeps
  readonly #inputModes: readonly string[] | undefined
  /** Look-ups of task ids that callers chose, while they last. */
  readonly #lookUps = new Map<string, Promise<TaskRecord | undefined>>()

  constructor(deps: AdmissionDeps) {
    this.#deps = deps
    this.#inputModes = acceptedModesOf(deps.agent)
  }

  /** Returns without a promise when nothing has to be read from the store, which is the case for most sends. */
  admit(request: SendMessageRequest, context: CallContext, isUnary: boolean): Admitted | Promise<Admitted> {
    const { agent, execution, limits, callerBytes } = this.#deps
    if (execution.isDraining) throw shuttingDown()
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) {
      assertPush(agent)
      assertWebhook(webhook, `${webhookField}.`)
    }
    assertInputModes(this.#inputModes, request.message)
    assertMessageSize(request.message, limits)
    const bytes = storedSizeOf(request)
    assertTaskRoom(0, bytes, limits)
    const reserving = callerBytes.reserve(context.caller.id, bytes)
    if (!(reserving instanceof Promise)) return this.#admitReserved({ request, context, isUnary, bytes }, reserving)
    return reserving.then((reservation) => this.#admitReserved({ request, context, isUnary, bytes }, reservation))
  }

  #admitReserved(
    { request, context, isUnary, bytes }: Pick<Sending, 'request' | 'context' | 'isUnary' | 'bytes'>,
    reservation: Reservation,
  ): Admitted | Promise<Admitted> {
    const { idempotency, schemas } = this.#deps
    const webhook = request.configuration?.taskPushNotificationConfig
    const returnsImmediately = isUnary && request.configuration?.returnImmediately === true
    const isPlain = !idempotency.appliesTo(context) && !returnsImmediately && !schemas && !webhook
    const needsNoStore = isPlain && request.message.taskId === undefined && context.wantedTaskId === undefined
    const sending: Sending = {
      request,
      context,
      turnRequest: turnRequestOf(request, context),
      idempotency: undefined,
      isUnary,
      createsTaskFirst: context.mustBeTask === true || returnsImmediately,
      returnsImmediately,
      bytes,
      reservation,
    }
    return needsNoStore ? this.#startWithoutStore(sending) : this.#admitWithStore(sending)
  }

  async #admitWithStore(given: Sending): Promise<Admitted> {
    const { schemas, pushConfigs, idempotency, running } = this.#deps
    try {
      const { request, context } = given
      // The skills' schemas apply to messages that begin a task, not to answers.
      if (request.message.taskId === undefined) await schemas?.input(request.message)
      const webhook = request.configuration?.taskPushNotificationConfig
      if (webhook) await pushConfigs.assertReachable(webhook.url, `${webhookField}.url`)
      const isKeyed = idempotency.appliesTo(context)
      const keyed = isKeyed ? await idempotency.keyOf(request, context, operationOf(given)) : undefined
      const sending = { ...given, idempotency: keyed?.key }
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const earlier = keyed && (await idempotency.find(keyed))
        if (earlier) {
          const run = running.get(earlier.taskId)
          return { taskId: earlier.taskId, after: earlier.seq - 1, ...(run && { run }) }
        }
        const { taskId } = request.message
        const admitted = await (taskId ? this.#continueTask(sending, taskId) : this.#startTask(sending))
        if (admitted !== 'again') return admitted
      }
      throw new A2AError('UNAVAILABLE', 'Too many messages to this task at once, try again', { retryAfterSeconds: 1 })
    } finally {
      given.reservation.release()
    }
  }

  async #startTask(sending: Sending): Promise<AdmitAttempt> {
    const { running, access } = this.#deps
    const { wantedTaskId } = sending.context
    if (wantedTaskId !== undefined) {
      const rival = running.get(wantedTaskId)
      if (rival && !rival.task) {
        await (rival.writer.isStored ? rival.done : rival.writer.firstCommit.wait())
        return 'again'
      }
      const record = await this.#findWanted(wantedTaskId)
      if (record) {
        // Callers choose these ids, so they must learn that an id is taken, but not by whom (RM-ID-1).
        if (!(await access.allows(sharedTaskOf(record), sending.context, operationOf(sending))))
          throw invalidField('id', 'cannot be used, choose another one')
        return await this.#continueTask(sending, wantedTaskId)
      }
      if (running.has(wantedTaskId)) return 'again'
    }
    // With a key, the record is stored before the agent runs, so that a retry finds it (E-6).
    if (sending.returnsImmediately || sending.idempotency) {
      const { run, current } = this.#newRun(sending)
      if ((await run.commitFirst()) !== 'ok') return 'again'
      return this.#begin(sending, run, current)
    }
    const admitted = this.#startWithoutStore(sending)
    if (wantedTaskId === undefined || (await admitted.run.writer.firstCommit.wait())) return admitted
    // Another process has created a task with this id since the look-up: the message belongs to that task.
    await admitted.run.done
    return 'again'
  }

  /**
   * The task that has the id which a caller chose for a new one. Sends of one id share a look-up: otherwise a slow one could
   * miss a task that another send has created and ended meanwhile.
   */
  #findWanted(id: string): Promise<TaskRecord | undefined> {
    const finding = this.#lookUps.get(id) ?? this.#deps.store.find(this.#key(id))
    this.#lookUps.set(id, finding)
    const forget = () => this.#lookUps.delete(id)
    finding.then(forget, forget)
    return finding
  }

  /**
   * The task is committed at the end of this tick. If the agent has finished by then, creation and end are one commit; a
   * longer task is visible at once.
   */
  #startWithoutStore(sending: Sending): Admitted & { readonly run: Run } {
    const { run, current } = this.#newRun(sending)
    if (sending.createsTaskFirst || sending.context.wantedTaskId !== undefined) run.writer.flushSoon()
    return this.#begin(sending, run, current)
  }

  #begin({ isUnary }: Sending, run: Run, current: AcceptedMessage): Admitted & { readonly run: Run } {
    const topic = isUnary ? undefined : this.#deps.topics.open(run.id)
    run.begin(current)
    return { taskId: run.id, after: 0, run, isNew: true, topic }
  }

  #newRun(sending: Sending): { readonly run: Run; readonly current: AcceptedMessage } {
    const { running, clock, execution } = this.#deps
    const { request, context, turnRequest } = sending
    // From here on the run counts the message.
    sending.reservation.release()
    running.assertRoom(context.caller.id, sending.bytes)
    const taskId = context.wantedTaskId ?? clock.newId()
    const contextId = request.message.contextId ?? clock.newId()
    const run = execution.open({
      key: this.#key(taskId),
      contextId,
      tenant: context.tenant ?? '',
      owner: context.caller.id,
      dialect: context.dialect ?? nativeDialect,
      fold: new TaskFold(),
      isNew: true,
      withMessage: this.#withMessage(sending, taskId),
    })
    const message = withMembers(request.message, { taskId, contextId })
    const current = run.hold(message, turnRequest, sending.bytes)
    if (sending.createsTaskFirst) run.holdVisible()
    return { run, current }
  }

  async #continueTask(given: Sending, taskId: string): Promise<AdmitAttempt> {
    const { running, store, pushConfigs } = this.#deps
    const run = running.get(taskId)
    if (run?.task) {
      const sending = await this.#permitted(given, run.identity)
      const message = addressed(sending.request.message, taskId, run.identity.contextId)
      const withMessage = this.#withMessage(sending, taskId)
      if (withMessage?.pushConfig) await pushConfigs.assertRoom(run.writer.key, withMessage.pushConfig)
      const seq = await run.accept(message, sending.turnRequest, withMessage)
      if (seq === 'ending') await run.done
      return typeof seq === 'number' ? { taskId, after: seq - 1, run } : 'again'
    }
    const record = await store.find(this.#key(taskId))
    if (record?.visibility !== 'task') throw taskNotFound(taskId)
    const sending = await this.#permitted(given, sharedTaskOf(record))
    if (record.state && isTerminal(record.state)) throw hasEnded(taskId, record.state)
    if (run) {
      await run.writer.firstCommit.wait()
      return 'again'
    }
    const loaded = await store.load(record.key)
    if (loaded?.record.seq !== record.seq) return 'again'
    const fold = foldOf(loaded)
    // The record and the log differ only in a damaged store. No run would ever take the message.
    if (fold.state && fold.isTerminal) throw hasEnded(taskId, fold.state)
    const message = addressed(sending.request.message, taskId, loaded.record.contextId)
    const pushConfig = this.#withMessage(sending, taskId)?.pushConfig
    if (pushConfig) await pushConfigs.assertRoom(loaded.record.key, pushConfig)
    const isIdle = fold.state !== undefined && isInterrupted(fold.state) && fold.waiting.length === 0
    if (isIdle && fold.state === 'TASK_STATE_INPUT_REQUIRED') assertAnswer(fold.status?.message, message)
    if (loaded.record.leaseOwner === undefined && isIdle)
      return await this.#resumeTask(sending, { loaded, fold, message })
    return await this.#queueMessage(sending, { loaded, fold, message })
  }

  /** Throws unless the caller may send to the task. Messages of other callers than the owner carry their caller's id. */
  async #permitted(sending: Sending, task: SharedTask): Promise<Sending> {
    const { context, turnRequest } = sending
    if (isOwn(task, context)) return sending
    if (!(await this.#deps.access.allows(task, context, operationOf(sending)))) throw taskNotFound(task.id)
    // A webhook would outlast the permission.
    if (sending.request.configuration?.taskPushNotificationConfig)
      throw invalidField(webhookField, 'is for the owner of the task to set')
    return { ...sending, turnRequest: { ...turnRequest, caller: { id: context.caller.id, ...turnRequest?.caller } } }
  }

  /** No process runs the task: this one claims the lease together with the message. */
  async #resumeTask(sending: Sending, { loaded, fold, message }: Continuation): Promise<AdmitAttempt> {
    const { limits, running, execution } = this.#deps
    const { key, contextId, tenant, owner, dialect, seq, bytes } = loaded.record
    assertTaskRoom(bytes, sending.bytes, limits)
    running.assertRoom(owner, bytes + sending.bytes)
    if (running.has(key.id)) return 'again'
    const run = execution.open({
      key,
      contextId,
      tenant,
      owner,
      dialect,
      fold,
      bytes,
      isNew: false,
      withMessage: this.#withMessage(sending, key.id),
    })
    sending.reservation.release()
    const current = run.hold(message, sending.turnRequest, sending.bytes)
    if ((await run.commitFirst()) !== 'ok') return 'again'
    const task = sending.isUnary ? undefined : run.task
    const opening = task && { task, seq: run.seq, turn: current.turn }
    run.begin(current)
    return { taskId: key.id, after: seq, run, opening }
  }

  /** Another process runs the task, or will: the message waits in the log. */
  async #queueMessage(sending: Sending, { loaded, fold, message }: Continuation): Promise<AdmitAttempt> {
    const { limits, store, clock, callerBytes } = this.#deps
    const { key, seq, owner } = loaded.record
    assertWaitingRoom(fold.waiting, limits)
    assertTaskRoom(loaded.record.bytes, sending.bytes, limits)
    const accepted = { turn: fold.lastTurn + 1, message, ...(sending.turnRequest && { request: sending.turnRequest }) }
    const { result } = await store.append({
      key,
      expect: seq,
      events: [{ seq: seq + 1, time: clock.now(), body: { accepted } }],
      bytes: sending.bytes,
      isRunnable: true,
      ...this.#withMessage(sending, key.id),
    })
    if (isFull(result)) throw storeFull(result)
    if (result !== 'ok') return 'again'
    callerBytes.add(owner, sending.bytes)
    return { taskId: key.id, after: seq }
  }

  #withMessage({ idempotency, request, context }: Sending, taskId: string): WithMessage | undefined {
    const given = request.configuration?.taskPushNotificationConfig
    if (!idempotency && !given) return undefined
    return { idempotency, pushConfig: given && this.#deps.pushConfigs.newConfig(given, taskId, context) }
  }

  #key(id: string): TaskKey {
    return { agent: this.#deps.agent.card.name, id }
  }
}

function operationOf({ isUnary }: Sending): SharingOperation {
  return isUnary ? 'sendMessage' : 'sendStreamingMessage'
}

function addressed(message: Message, taskId: string, contextId: string): Message {
  if (message.contextId !== undefined && message.contextId !== contextId) {
    throw invalidField('message.contextId', `task ${taskId} belongs to another context`)
  }
  return withMembers(message, { taskId, contextId })
}

/** The parts of a request that the turn needs, also after a crash; undefined when there are none. */
function turnRequestOf(request: SendMessageRequest, context: CallContext): TurnRequest | undefined {
  const { metadata, configuration } = request
  const { acceptedOutputModes } = configuration ?? {}
  const { extensions } = context
  const { scheme, scopes } = context.caller
  const isPlain = !metadata && !acceptedOutputModes && !extensions?.length
  if (isPlain && scheme === undefined && context.traceparent === undefined) return undefined
  const turnRequest: { -readonly [Member in keyof TurnRequest]: TurnRequest[Member] } = {}
  if (metadata) turnRequest.metadata = metadata
  if (acceptedOutputModes) turnRequest.acceptedOutputModes = acceptedOutputModes
  if (extensions?.length) turnRequest.extensions = extensions
  Object.assign(turnRequest, traceContextOf(context))
  if (scheme !== undefined) turnRequest.caller = scopes?.length ? { scheme, scopes } : { scheme }
  return turnRequest
}
