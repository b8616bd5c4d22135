/**
 * Lets a message in: as the first of a new task, into the queue of a busy one, or as the next turn of
 * one that waits. The same code for unary and streaming sends; they differ in how they watch.
 */
import { type AcceptedMessage, TaskFold } from '../../model/apply-event.js'
import { A2AError, invalidField } from '../../model/errors.js'
import type { TurnRequest } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import { type CallContext, type Caller, nativeDialect, type SendMessageRequest } from '../../model/service.js'
import { storedSizeOf } from '../../model/size-of.js'
import { isInterrupted, isTerminal } from '../../model/task.js'
import { traceContextOf } from '../../model/trace-context.js'
import type { IdempotencyKey, LoadedTask, Scope } from '../../stores/store.js'
import { isOwn, mayAccess, type SharedTask, type SharingOperation, taskNotFound } from '../access.js'
import type { WithMessage } from '../execution/event-buffer.js'
import { Run } from '../execution/run.js'
import type { Reservation } from '../execution/usage.js'
import { assertHistoryLength, foldOf, identityOf } from '../following/task-reader.js'
import type { Topic } from '../following/topic.js'
import type { Internals } from '../internals.js'
import {
  assertIds,
  assertParts,
  assertRoom,
  assertTaskRoom,
  assertWaitingRoom,
  isFull,
  shuttingDown,
  storeFull,
} from '../limits.js'
import { assertAcceptable, assertAnswer, inlineConfig } from '../message-checks.js'
import { findKeyedSend, idempotencyOf } from './idempotency.js'
import { assertReachable, assertRoomForWebhook, newPushConfig } from './push-configs.js'

/** Where a sender looks for its answer. */
export interface Admission {
  readonly taskId: string
  /** The sequence just before the sender's message. */
  readonly after: number
  /** The run, when it is in this process. */
  readonly run?: Run
  /** The run was begun for this very message. */
  readonly isNew?: boolean
  /**
   * Made before a new run begins, for a sender that streams: an answer that is not stored can be read
   * there and nowhere else.
   */
  readonly topic?: Topic
}

interface Sending {
  readonly request: SendMessageRequest
  readonly context: CallContext
  readonly turnRequest: TurnRequest | undefined
  readonly idempotency: IdempotencyKey | undefined
  /** The task is visible before the agent speaks (E-6). */
  readonly isVisibleAtOnce: boolean
  /** Its sender waits for nothing else: it is in the store before the agent runs. */
  readonly isShownAtOnce: boolean
  readonly isUnary: boolean
  /** The size of the request. */
  readonly bytes: number
  /** Released when the message is part of a task, or refused. */
  readonly reservation: Reservation
}

/** Attempts to get in while others write to the same task; each one means that somebody made progress. */
const mostAttempts = 100

/** Most sends need nothing from the store before they start; they are let in without waiting for a promise. */
export function admit(
  internals: Internals,
  request: SendMessageRequest,
  context: CallContext,
  isUnary: boolean,
): Admission | Promise<Admission> {
  if (internals.isDraining) throw shuttingDown()
  assertAcceptable(internals.agent, request)
  assertIds(request.message)
  assertParts(request.message, internals.settings.limits)
  assertHistoryLength(request.configuration?.historyLength, 'configuration.historyLength')
  const bytes = storedSizeOf(request)
  assertTaskRoom(0, bytes, internals.settings.limits)
  const isShownAtOnce = isUnary && request.configuration?.returnImmediately === true
  const given = {
    request,
    context,
    turnRequest: turnRequestOf(request, context),
    idempotency: undefined,
    isUnary,
    isVisibleAtOnce: context.mustBeTask === true || isShownAtOnce,
    isShownAtOnce,
    bytes,
  }
  const isKeyed = context.idempotencyKey !== undefined || internals.settings.dedupeByMessageId
  const hasWebhook = request.configuration?.taskPushNotificationConfig !== undefined
  const isPlain = !isKeyed && !isShownAtOnce && !internals.schemas && !hasWebhook
  const isAtOnce = isPlain && request.message.taskId === undefined && context.wantedTaskId === undefined
  const start = (reservation: Reservation) => {
    const sending: Sending = { ...given, reservation }
    return isAtOnce ? startAtOnce(internals, sending) : admitWithStore(internals, sending)
  }
  const reservation = internals.callerBytes.reserve(context.caller.id, bytes)
  return reservation instanceof Promise ? reservation.then(start) : start(reservation)
}

async function admitWithStore(internals: Internals, given: Sending): Promise<Admission> {
  try {
    const { request, context } = given
    // Skills say what begins a task; answers to questions are free.
    if (request.message.taskId === undefined) await internals.schemas?.input(request.message)
    const webhook = request.configuration?.taskPushNotificationConfig
    if (webhook) await assertReachable(internals, webhook.url, `${inlineConfig}.url`)
    const keys = await keyScopeOf(internals, given)
    const sending = { ...given, idempotency: await idempotencyOf(internals, request, context, keys.prefix) }
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const earlier = await findKeyedSend(internals, keys.scope, sending.idempotency)
      if (earlier) return { taskId: earlier.taskId, after: earlier.seq - 1, ...liveRun(internals, earlier.taskId) }
      const { taskId } = request.message
      const admission = taskId
        ? await continueTask(internals, sending, taskId)
        : await startTask(internals, sending, attempt > 0)
      if (admission !== 'again') return admission
    }
    throw new A2AError('UNAVAILABLE', 'Too many messages to this task at once, try again', { retryAfterSeconds: 1 })
  } finally {
    given.reservation.release()
  }
}

/**
 * Keys are the caller's own. One that comes with a message to somebody else's task is stored with that task, so
 * it is looked for there, marked with whose it is.
 */
async function keyScopeOf(
  internals: Internals,
  sending: Sending,
): Promise<{ readonly scope: Scope; readonly prefix?: string }> {
  const { request, context } = sending
  const scope = internals.scope(context)
  const taskId = request.message.taskId ?? context.wantedTaskId
  if (!internals.canAccess || taskId === undefined) return { scope }
  const record = await internals.store.find(internals.key(taskId))
  if (!record || isOwn(record, context)) return { scope }
  if (!(await mayAccess(internals, identityOf(record), context, operationOf(sending)))) return { scope }
  return { scope: { ...scope, owner: record.owner }, prefix: `by:${JSON.stringify(context.caller.id)}:` }
}

/** A wanted id is nobody's most of the time: that it is somebody's is learned from the store's refusal, and looked at then. */
async function startTask(internals: Internals, sending: Sending, isRefused: boolean): Promise<Admission | 'again'> {
  const { wantedTaskId } = sending.context
  if (wantedTaskId !== undefined && (isRefused || internals.runs.has(wantedTaskId))) {
    const rival = internals.runs.get(wantedTaskId)
    if (rival && !rival.task) {
      await rival.writer.settled()
      await rival.done
      return 'again'
    }
    const record = await internals.store.find(internals.key(wantedTaskId))
    if (record) {
      // Its callers choose ids, so they must learn that one is taken, but not by whom (RM-ID-1).
      if (!(await mayAccess(internals, identityOf(record), sending.context, operationOf(sending))))
        throw invalidField('id', 'cannot be used, choose another one')
      return await continueTask(internals, sending, wantedTaskId)
    }
  }
  // With a key the record is there before the agent's first line runs: a retry will find it (E-6).
  const isPlain = !sending.isShownAtOnce && !sending.idempotency && wantedTaskId === undefined
  if (isPlain) return startAtOnce(internals, sending)
  if (wantedTaskId !== undefined && internals.runs.has(wantedTaskId)) return 'again'
  const { run, current } = newRun(internals, sending)
  if (sending.isVisibleAtOnce) run.holdVisible()
  if ((await commitFirst(run)) !== 'ok') return 'again'
  return begin(internals, sending, run, current)
}

function startAtOnce(internals: Internals, sending: Sending): Admission {
  const { run, current } = newRun(internals, sending)
  if (sending.isVisibleAtOnce) {
    // Stored at the end of this tick, together with all that a quick agent says in it.
    run.holdVisible()
    run.writer.flushSoon()
  }
  return begin(internals, sending, run, current)
}

function begin(internals: Internals, { isUnary }: Sending, run: Run, current: AcceptedMessage): Admission {
  const admission = { taskId: run.id, after: 0, run, isNew: true }
  if (isUnary) {
    run.begin(current)
    return admission
  }
  const topic = internals.topic(run.id)
  run.begin(current)
  return { ...admission, topic }
}

function newRun(internals: Internals, sending: Sending): { readonly run: Run; readonly current: AcceptedMessage } {
  const { request, context, turnRequest } = sending
  // The run counts the message from here on.
  sending.reservation.release()
  assertRoom(internals, context.caller.id, sending.bytes)
  const taskId = context.wantedTaskId ?? internals.clock.newId()
  const contextId = request.message.contextId ?? internals.clock.newId()
  const run = new Run(internals, {
    key: internals.key(taskId),
    contextId,
    tenant: context.tenant ?? '',
    owner: context.caller.id,
    dialect: context.dialect ?? nativeDialect,
    fold: new TaskFold(),
    isNew: true,
    ...withMessage(internals, sending, taskId),
  })
  const message = { ...request.message, taskId, contextId }
  run.hold(message, turnRequest, sending.bytes)
  return { run, current: turnRequest ? { turn: 1, message, request: turnRequest } : { turn: 1, message } }
}

async function continueTask(internals: Internals, given: Sending, taskId: string): Promise<Admission | 'again'> {
  const run = internals.runs.get(taskId)
  if (run) {
    if (!run.task) throw taskNotFound(taskId)
    const sending = await permitted(internals, given, run.identity)
    const message = addressed(sending.request.message, taskId, run.identity.contextId)
    const beside = withMessage(internals, sending, taskId).withMessage ?? {}
    if (beside.pushConfig) await assertRoomForWebhook(internals, run.writer.key, beside.pushConfig)
    const seq = await run.accept(message, sending.turnRequest, beside)
    if (seq === 'ending') await run.done
    return typeof seq === 'number' ? { taskId, after: seq - 1, run } : 'again'
  }
  const record = await internals.store.find(internals.key(taskId))
  if (record?.visibility !== 'task') throw taskNotFound(taskId)
  const sending = await permitted(internals, given, identityOf(record))
  if (record.state && isTerminal(record.state)) {
    throw new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} has ended and takes no more messages`, {
      metadata: { taskId, state: record.state },
    })
  }
  const loaded = await internals.store.load(record.key)
  if (loaded?.record.seq !== record.seq) return 'again'
  const fold = foldOf(loaded)
  const message = addressed(sending.request.message, taskId, loaded.record.contextId)
  const { pushConfig } = withMessage(internals, sending, taskId).withMessage ?? {}
  if (pushConfig) await assertRoomForWebhook(internals, loaded.record.key, pushConfig)
  const isIdle = fold.state !== undefined && isInterrupted(fold.state) && fold.waiting.length === 0
  if (isIdle && fold.state === 'TASK_STATE_INPUT_REQUIRED') assertAnswer(fold.status?.message, message)
  if (loaded.record.leaseOwner === undefined && isIdle)
    return await resumeTask(internals, sending, { loaded, fold, message })
  return await queueMessage(internals, sending, { loaded, fold, message })
}

/** The send, if it may go on with this task; somebody else's word is signed, so that the agent knows whose it is. */
async function permitted(internals: Internals, sending: Sending, task: SharedTask): Promise<Sending> {
  const { context, turnRequest } = sending
  if (isOwn(task, context)) return sending
  if (!(await mayAccess(internals, task, context, operationOf(sending)))) throw taskNotFound(task.id)
  // A webhook would outlast the permission.
  if (sending.request.configuration?.taskPushNotificationConfig)
    throw invalidField(inlineConfig, 'is for the owner of the task to set')
  return { ...sending, turnRequest: { ...turnRequest, caller: { id: context.caller.id, ...turnRequest?.caller } } }
}

function operationOf({ isUnary }: Sending): SharingOperation {
  return isUnary ? 'sendMessage' : 'sendStreamingMessage'
}

interface Continuation {
  readonly loaded: LoadedTask
  readonly fold: TaskFold
  readonly message: Message
}

/** Nobody works on it: this process takes the lease together with the message. */
async function resumeTask(
  internals: Internals,
  sending: Sending,
  { loaded, fold, message }: Continuation,
): Promise<Admission | 'again'> {
  const { key, contextId, tenant, owner, dialect, seq, bytes } = loaded.record
  assertTaskRoom(bytes, sending.bytes, internals.settings.limits)
  assertRoom(internals, owner, bytes + sending.bytes)
  if (internals.runs.has(key.id)) return 'again'
  const run = new Run(internals, {
    key,
    contextId,
    tenant,
    owner,
    dialect,
    fold,
    bytes,
    isNew: false,
    ...withMessage(internals, sending, key.id),
  })
  const turn = fold.lastTurn + 1
  sending.reservation.release()
  run.hold(message, sending.turnRequest, sending.bytes)
  if ((await commitFirst(run)) !== 'ok') return 'again'
  run.begin({ turn, message, ...(sending.turnRequest && { request: sending.turnRequest }) })
  return { taskId: key.id, after: seq, run }
}

/** Another process works on it, or nobody does at the moment: the message waits in the log for whoever runs next. */
async function queueMessage(
  internals: Internals,
  sending: Sending,
  { loaded, fold, message }: Continuation,
): Promise<Admission | 'again'> {
  const { key, seq, owner } = loaded.record
  assertWaitingRoom(fold.waiting, internals.settings.limits)
  assertTaskRoom(loaded.record.bytes, sending.bytes, internals.settings.limits)
  const accepted = { turn: fold.lastTurn + 1, message, ...(sending.turnRequest && { request: sending.turnRequest }) }
  const outcome = await internals.store.append({
    key,
    expect: seq,
    events: [{ seq: seq + 1, time: internals.clock.now(), body: { accepted } }],
    bytes: sending.bytes,
    isRunnable: true,
    ...withMessage(internals, sending, key.id).withMessage,
  })
  if (isFull(outcome.result)) throw storeFull(outcome.result)
  if (outcome.result !== 'ok') return 'again'
  internals.callerBytes.add(owner, sending.bytes)
  return { taskId: key.id, after: seq }
}

/** Anything but `ok` means that the run never began. */
export async function commitFirst(run: Run): Promise<string> {
  try {
    const outcome = await run.writer.commit({ lease: 'keep' })
    if (isFull(outcome)) throw storeFull(outcome)
    if (outcome !== 'ok') run.close()
    return outcome
  } catch (error) {
    run.close()
    throw error
  }
}

function addressed(message: Message, taskId: string, contextId: string): Message {
  if (message.contextId !== undefined && message.contextId !== contextId) {
    throw invalidField('message.contextId', `task ${taskId} belongs to another context`)
  }
  return { ...message, taskId, contextId }
}

function turnRequestOf(request: SendMessageRequest, context: CallContext): TurnRequest | undefined {
  const { metadata, configuration } = request
  const { acceptedOutputModes } = configuration ?? {}
  const { extensions, caller } = context
  const isPlain = !metadata && !acceptedOutputModes && !extensions?.length
  if (isPlain && caller.scheme === undefined && context.traceparent === undefined) return undefined
  return {
    ...(metadata && { metadata }),
    ...(acceptedOutputModes && { acceptedOutputModes }),
    ...(extensions?.length && { extensions }),
    ...traceContextOf(context),
    ...(caller.scheme !== undefined && { caller: proofOf(caller) }),
  }
}

/** What a turn may see of how its caller was known, after a crash as well. */
function proofOf({ scheme, scopes }: Caller): NonNullable<TurnRequest['caller']> {
  return { ...(scheme !== undefined && { scheme }), ...(scopes?.length && { scopes }) }
}

function withMessage(internals: Internals, sending: Sending, taskId: string): { readonly withMessage?: WithMessage } {
  const { idempotency, request, context } = sending
  const given = request.configuration?.taskPushNotificationConfig
  if (!idempotency && !given) return {}
  return {
    withMessage: {
      ...(idempotency && { idempotency }),
      ...(given && { pushConfig: newPushConfig(internals, given, taskId, context) }),
    },
  }
}

function liveRun(internals: Internals, taskId: string): { readonly run?: Run } {
  const run = internals.runs.get(taskId)
  return run ? { run } : {}
}
