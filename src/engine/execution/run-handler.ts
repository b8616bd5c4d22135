/** Runs a handler for one attempt of one turn, and says what it yields. How the turn ended is for the run to commit. */
import type { AcceptedMessage } from '../../model/apply-event.js'
import { AuthorError } from '../../model/author-error.js'
import { copyJson } from '../../model/copy-json.js'
import { A2AError } from '../../model/errors.js'
import type { Part } from '../../model/part.js'
import { storedSizeOf } from '../../model/size-of.js'
import type { TaskState } from '../../model/task.js'
import type { OpenSpan } from '../../telemetry/tracing.js'
import { operationNames, type Tracing } from '../../telemetry/tracing.js'
import { type Agent, notAGenerator, type Turn } from '../agent.js'
import { taskTooLarge } from '../limits.js'
import { readAnswer } from '../message-checks.js'
import type { ArtifactDraft, Yield } from '../yields.js'
import { draftFault } from '../yields.js'
import { enterHandler, leaveHandler, resumeHandler } from './handler-watch.js'
import type { Run } from './run.js'
import { atMost } from './stop.js'
import { RunningTurn } from './turn.js'
import type { YieldWriter } from './yield-writer.js'

/** How a turn ended. */
export type TurnEnd =
  | { readonly kind: 'state'; readonly state: TaskState; readonly parts?: readonly Part[] }
  /** With a Message, before there was a task. */
  | { readonly kind: 'message'; readonly parts: readonly Part[] }
  /** With an error for the caller, before there was a task (E-8). */
  | { readonly kind: 'refused'; readonly error: A2AError }
  | { readonly kind: 'stopped' }

type HandlerIterator = ReturnType<ReturnType<Agent['handler']>[typeof Symbol.asyncIterator]>

interface Stage {
  readonly run: Pick<Run, 'id' | 'internals' | 'isStopped' | 'writer'> & ConstructorParameters<typeof RunningTurn>[1]
  readonly voice: YieldWriter
}

const yieldsPerTick = 256
const nothingSent: readonly Part[] = [{ text: 'The message has no content' }]
const completedTurn: TurnEnd = { kind: 'state', state: 'TASK_STATE_COMPLETED' }
export const neutralFailure: readonly Part[] = [{ text: 'The agent failed' }]

export function runHandler(current: AcceptedMessage, stage: Stage): Promise<TurnEnd> {
  const { tracing } = stage.run.internals
  return tracing
    ? traceTurn(tracing, { current, run: stage.run }, (span) => iterate(current, stage, span))
    : iterate(current, stage)
}

/** A handler that is not typed may return anything. */
function iteratorOf({ card, handler }: Agent, turn: Turn<never>): HandlerIterator {
  const given: Partial<ReturnType<Agent['handler']>> | undefined = handler(turn)
  const iterate = given?.[Symbol.asyncIterator]
  if (typeof iterate !== 'function') throw new AuthorError(notAGenerator(card.name))
  return iterate.call(given)
}

async function iterate(current: AcceptedMessage, stage: Stage, span?: OpenSpan): Promise<TurnEnd> {
  const { run, voice } = stage
  let iterator: HandlerIterator | undefined
  let isFirst = true
  let yields = 0
  try {
    // Only dialects that have no other word for it bring a message with nothing in it (RL-L0-2).
    if (current.message.parts.length === 0) return { kind: 'state', state: 'TASK_STATE_FAILED', parts: nothingSent }
    const { answered } = run.writer.fold
    const answer = readAnswer(answered, current.message)
    // A message that was sent before the question was asked and does not answer it: the question stands.
    if ('violations' in answer)
      return { kind: 'state', state: 'TASK_STATE_INPUT_REQUIRED', ...(answered && { parts: answered.parts }) }
    const accepted = answer.message === current.message ? current : { ...current, message: answer.message }
    const { agent, schemas } = run.internals
    const isChecked = schemas && current.turn === 1
    const checked = isChecked ? { input: await schemas.input(copyJson(current.message)) } : undefined
    // `Handler<never>` hides the type of `data()`: the schema check made the input what the author declared.
    const turn = new RunningTurn(accepted, run, checked, span?.trace) as Turn<unknown> as Turn<never>
    const handler = iteratorOf(agent, turn)
    iterator = handler
    for (;;) {
      enterHandler()
      const stepping = span ? span.run(() => handler.next()) : handler.next()
      leaveHandler(run.internals, run.id)
      const step = await stepping
      resumeHandler(run.internals, run.id)
      if (run.isStopped) {
        abandon(iterator)
        return { kind: 'stopped' }
      }
      // Untyped handlers may return `null`.
      if (step.done && (step.value === undefined || step.value === null)) return completedTurn
      const taken = take(step.value as Yield, stage, isFirst) // checked there
      // A burst of chunks goes into the buffer without waiting for anything.
      const end = taken instanceof Promise ? await taken.catch(asUncommitted) : taken
      isFirst = false
      yields += 1
      // A handler that never waits for anything must not keep everybody else from running.
      if (yields % yieldsPerTick === 0) await new Promise((resolve) => setImmediate(resolve))
      if (step.done) return end ?? completedTurn
      if (!end) continue
      await close(iterator, stage)
      return end
    }
  } catch (error) {
    if (iterator) abandon(iterator)
    if (error instanceof Uncommitted) throw error.cause
    if (run.isStopped) return { kind: 'stopped' }
    if (error instanceof A2AError) {
      if (!voice.isVisible) return { kind: 'refused', error }
      return { kind: 'state', state: 'TASK_STATE_FAILED', parts: [{ text: error.message }] }
    }
    log(stage, 'error', 'The agent threw', error)
    // The text of an unknown error is for the log, not for the peer (E-8).
    const parts = error instanceof AuthorError ? [{ text: `The agent failed: ${error.message}` }] : neutralFailure
    return { kind: 'state', state: 'TASK_STATE_FAILED', parts }
  }
}

/** The store failed while the handler spoke: a failure of the run, not of the handler. */
class Uncommitted extends Error {}

function asUncommitted(cause: unknown): never {
  throw cause instanceof A2AError ? new Uncommitted('Not committed', { cause }) : cause
}

/** Says one yield. Answers when it ends the turn. Waits only when the store is behind. */
function take(value: Yield, stage: Stage, isFirst: boolean): TurnEnd | Promise<undefined> | undefined {
  const { voice, run } = stage
  if (value === '') return undefined
  const fault = typeof value === 'string' ? undefined : draftFault(value)
  if (fault !== undefined) return unsendable(fault, stage)
  const { limits } = run.internals.settings
  // Before anything is copied or made into JSON.
  const bytes = typeof value === 'string' ? value.length : storedSizeOf(value, limits.bytesPerTask)
  if (!voice.hasRoomFor(bytes)) {
    log(stage, 'warn', 'The task ends: it is larger than limits.bytesPerTask')
    return { kind: 'state', state: 'TASK_STATE_FAILED', parts: taskTooLarge(limits) }
  }
  if (typeof value === 'string') return afterRoom(voice.chunk(value))
  switch (value.kind) {
    case 'artifact':
      return takeArtifact(value, bytes, stage)
    case 'reply':
      if (isFirst && !voice.isVisible) return { kind: 'message', parts: value.parts }
      return { kind: 'state', state: 'TASK_STATE_COMPLETED', parts: value.parts }
    case 'status':
      if (value.state === 'TASK_STATE_WORKING') return afterRoom(voice.progress(value.parts, bytes))
      return { kind: 'state', state: value.state, ...(value.parts && { parts: value.parts }) }
  }
}

/** Ends the turn after a yield that no event can carry (R-TASK-7). */
function unsendable(fault: string, stage: Stage): TurnEnd {
  log(stage, 'error', 'The agent yielded what cannot be sent', new AuthorError(fault))
  const text = `The agent answered with what cannot be sent: ${fault}`
  if (!stage.voice.isVisible) return { kind: 'refused', error: new A2AError('INVALID_AGENT_RESPONSE', text) }
  return { kind: 'state', state: 'TASK_STATE_FAILED', parts: [{ text }] }
}

function takeArtifact(draft: ArtifactDraft, bytes: number, { run, voice }: Stage): Promise<undefined> | undefined {
  // What an extension adds has a shape of its own: skills say what their own results look like.
  const schemas = draft.options.extensions?.length ? undefined : run.internals.schemas
  if (!schemas) return afterRoom(voice.artifact(draft, bytes))
  return schemas.output(draft.parts).then(() => afterRoom(voice.artifact(draft, bytes)))
}

/** Lets `finally` blocks run before the turn counts as over, but not for ever. */
async function close(iterator: HandlerIterator, stage: Stage): Promise<void> {
  try {
    await atMost(stage.run.internals.settings.cancelGraceMs, iterator.return?.())
  } catch (error) {
    log(stage, 'warn', 'The agent threw while it was closed', error)
  }
}

/** A handler that is not waited for any more. */
function abandon(iterator: HandlerIterator): void {
  const close = async () => iterator.return?.()
  close().catch(() => undefined) // nobody is left to tell
}

function log({ run }: Stage, level: 'warn' | 'error', message: string, error?: unknown): void {
  run.internals.log({ level, message, agent: run.internals.name, taskId: run.id, error })
}

function afterRoom(room: Promise<void> | undefined): Promise<undefined> | undefined {
  return room?.then(() => undefined)
}

interface TracedTurn {
  readonly current: AcceptedMessage
  readonly run: Pick<Run, 'id' | 'internals' | 'attempt'>
}

export async function traceTurn(
  tracing: Tracing,
  { current, run }: TracedTurn,
  work: (span: OpenSpan) => Promise<TurnEnd>,
): Promise<TurnEnd> {
  const { agent, name } = run.internals
  const operation = agent.isWorkflow ? operationNames.workflow : operationNames.agent
  const span = tracing.start({
    name: `${operation} ${name}`,
    kind: 'internal',
    parent: current.request,
    facts: {
      operation,
      agent: name,
      contextId: current.message.contextId,
      taskId: run.id,
      turn: current.turn,
      attempt: run.attempt,
    },
  })
  try {
    const end = await work(span)
    span.end(outcomeOf(end))
    return end
  } catch (error) {
    span.end({ isFailure: true, error: error instanceof Error ? error.name : 'Error' })
    throw error
  }
}

function outcomeOf(end: TurnEnd): Parameters<OpenSpan['end']>[0] {
  if (end.kind === 'refused') return { isFailure: true, error: end.error.code }
  if (end.kind !== 'state') return { isFailure: false }
  return { isFailure: end.state === 'TASK_STATE_FAILED', state: end.state }
}
