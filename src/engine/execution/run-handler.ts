/** Runs a handler for one attempt of one turn and writes its yields. The run commits the end of the turn. */

import { copyJson } from '../../model/copy-json.js'
import { A2AError } from '../../model/errors.js'
import { AuthorError } from '../../model/option-names.js'
import { storedSizeOf } from '../../model/size-of.js'
import type { TaskState } from '../../model/task.js'
import type { AcceptedMessage } from '../../model/task-fold.js'
import { type OpenSpan, operationNames, type Tracing } from '../../telemetry/tracing.js'
import { type Agent, notAGenerator, type Turn } from '../agent.js'
import { type EngineLimits, taskTooLarge } from '../limits.js'
import { readAnswer, type SkillSchemas } from '../message-checks.js'
import { type ArtifactDraft, draftFault, type Yield } from '../yields.js'
import { activeExtensions, contentOf, type DraftContent } from './draft-content.js'
import { enterHandler, leaveHandler, resumeHandler, type WatchedEngine } from './handler-watch.js'
import { waitAtMost } from './stop.js'
import { RunningTurn, type RunState, type TurnDeps } from './turn.js'
import type { YieldWriter } from './yield-writer.js'

export interface HandlerDeps extends TurnDeps {
  readonly schemas: SkillSchemas | undefined
  /** Undefined when the application registered no tracer. */
  readonly tracing: Tracing | undefined
  readonly limits: EngineLimits
  readonly cancelGraceMs: number
  readonly watched: WatchedEngine
}

/** The end of a turn. */
export type TurnEnd =
  | { readonly kind: 'state'; readonly state: TaskState; readonly content?: DraftContent }
  /** A Message, before there was a task. */
  | { readonly kind: 'message'; readonly content: DraftContent }
  /** An error for the caller, before there was a task (E-8). */
  | { readonly kind: 'refused'; readonly error: A2AError }
  | { readonly kind: 'stopped' }

interface Stage {
  readonly deps: HandlerDeps
  readonly scope: RunState
  readonly output: YieldWriter
}

/** A stage, with the extensions that are active in the turn. */
interface ActiveStage extends Stage {
  readonly active: readonly string[]
}

type HandlerIterator = ReturnType<ReturnType<Agent['handler']>[typeof Symbol.asyncIterator]>

const yieldsPerTick = 256
const emptyMessage: DraftContent = { parts: [{ text: 'The message has no content' }] }
const completedTurn: TurnEnd = { kind: 'state', state: 'TASK_STATE_COMPLETED' }
export const neutralFailure: DraftContent = { parts: [{ text: 'The agent failed' }] }

export function runHandler(current: AcceptedMessage, stage: Stage): Promise<TurnEnd> {
  const { tracing } = stage.deps
  return tracing ? traceTurn(tracing, current, stage) : iterate(current, stage)
}

/** Creates a span for the attempt, as a child of the call that brought the message. */
async function traceTurn(tracing: Tracing, current: AcceptedMessage, stage: Stage): Promise<TurnEnd> {
  const { agent } = stage.deps
  const operation = agent.isWorkflow ? operationNames.workflow : operationNames.agent
  const span = tracing.start({
    name: `${operation} ${agent.card.name}`,
    kind: 'internal',
    parent: current.request,
    facts: {
      operation,
      agent: agent.card.name,
      contextId: current.message.contextId,
      taskId: stage.scope.taskId,
      turn: current.turn,
      attempt: stage.scope.attempt,
    },
  })
  try {
    const end = await iterate(current, stage, span)
    span.end(spanEndOf(end))
    return end
  } catch (error) {
    span.end({ isFailure: true, error: error instanceof Error ? error.name : 'Error' })
    throw error
  }
}

function spanEndOf(end: TurnEnd): Parameters<OpenSpan['end']>[0] {
  if (end.kind === 'refused') return { isFailure: true, error: end.error.code }
  if (end.kind !== 'state') return { isFailure: false }
  return { isFailure: end.state === 'TASK_STATE_FAILED', state: end.state }
}

async function iterate(current: AcceptedMessage, given: Stage, span?: OpenSpan): Promise<TurnEnd> {
  const { deps, scope, output } = given
  const stage: ActiveStage = { deps, scope, output, active: activeExtensions(deps.agent, current.request) }
  let iterator: HandlerIterator | undefined
  let isFirst = true
  let yields = 0
  try {
    // Only dialects without an operation for this send a message without parts (RL-L0-2).
    if (current.message.parts.length === 0) return { kind: 'state', state: 'TASK_STATE_FAILED', content: emptyMessage }
    const { answered } = scope
    const answer = readAnswer(answered, current.message)
    // The message was sent before the question and does not answer it: the question stays open.
    if ('violations' in answer)
      return { kind: 'state', state: 'TASK_STATE_INPUT_REQUIRED', ...(answered && { content: answered }) }
    const accepted = answer.message === current.message ? current : { ...current, message: answer.message }
    const { agent, schemas, watched } = deps
    const isChecked = schemas && current.turn === 1
    const checked = isChecked ? { input: await schemas.input(copyJson(current.message)) } : undefined
    const facts = { active: stage.active, checked, approvals: answer.decisions, trace: span?.trace }
    // `Handler<never>` hides the type of `data()`; the schema check has established it.
    const turn = new RunningTurn(deps, accepted, scope, facts) as Turn<unknown> as Turn<never>
    const handler = iteratorOf(agent, turn)
    iterator = handler
    for (;;) {
      enterHandler()
      const stepping = span ? span.run(() => handler.next()) : handler.next()
      leaveHandler(watched, scope.taskId)
      const step = await stepping
      resumeHandler(watched, scope.taskId)
      if (scope.isStopped) {
        abandon(iterator)
        return { kind: 'stopped' }
      }
      // Untyped handlers may return `null`.
      if (step.done && (step.value === undefined || step.value === null)) return completedTurn
      const taken = take(step.value as Yield, stage, isFirst) // `take` checks the value
      // A burst of chunks is buffered without waiting.
      const end = taken instanceof Promise ? await taken.catch(asUncommitted) : taken
      isFirst = false
      yields += 1
      // A handler that never waits must not block the event loop.
      if (yields % yieldsPerTick === 0) await new Promise((resolve) => setImmediate(resolve))
      if (step.done) return end ?? completedTurn
      if (!end) continue
      await close(iterator, stage)
      return end
    }
  } catch (error) {
    if (iterator) abandon(iterator)
    if (error instanceof Uncommitted) throw error.cause
    if (scope.isStopped) return { kind: 'stopped' }
    if (error instanceof A2AError) {
      if (!output.isVisible) return { kind: 'refused', error }
      return { kind: 'state', state: 'TASK_STATE_FAILED', content: { parts: [{ text: error.message }] } }
    }
    log(stage, 'error', 'The agent threw', error)
    // The text of an unknown error is logged and not sent to the caller (E-8).
    if (!(error instanceof AuthorError)) return { kind: 'state', state: 'TASK_STATE_FAILED', content: neutralFailure }
    const parts = [{ text: `The agent failed: ${error.message}` }]
    return { kind: 'state', state: 'TASK_STATE_FAILED', content: { parts } }
  }
}

/** Untyped handlers may return anything. */
function iteratorOf({ card, handler }: Agent, turn: Turn<never>): HandlerIterator {
  const given: Partial<ReturnType<Agent['handler']>> | undefined = handler(turn)
  const iterate = given?.[Symbol.asyncIterator]
  if (typeof iterate !== 'function') throw new AuthorError(notAGenerator(card.name))
  return iterate.call(given)
}

/** The store failed during a yield: a failure of the run, not of the handler. */
class Uncommitted extends Error {}

function asUncommitted(cause: unknown): never {
  throw cause instanceof A2AError ? new Uncommitted('Not committed', { cause }) : cause
}

/** Writes one yield. Returns the end of the turn if the yield ends it, or a promise while the buffer is full. */
function take(value: Yield, stage: ActiveStage, isFirst: boolean): TurnEnd | Promise<undefined> | undefined {
  const { output } = stage
  if (value === '') return undefined
  const fault = typeof value === 'string' ? undefined : draftFault(value)
  if (fault !== undefined) return invalidYield(fault, stage)
  const { limits } = stage.deps
  // Checked before the value is copied or serialised.
  const bytes = typeof value === 'string' ? value.length : storedSizeOf(value, limits.bytesPerTask)
  if (!output.hasRoomFor(bytes)) {
    log(stage, 'warn', 'The task ends: it is larger than limits.bytesPerTask')
    return { kind: 'state', state: 'TASK_STATE_FAILED', content: { parts: taskTooLarge(limits) } }
  }
  if (typeof value === 'string') return afterRoom(output.chunk(value))
  const content = contentOf(value, stage.active)
  switch (value.kind) {
    case 'artifact':
      return takeArtifact(value, content, bytes, stage)
    case 'reply':
      if (isFirst && !output.isVisible) return { kind: 'message', content }
      return { kind: 'state', state: 'TASK_STATE_COMPLETED', content }
    case 'status':
      // A step that this caller does not see.
      if (value.step && !content.parts) return undefined
      if (value.state === 'TASK_STATE_WORKING') return afterRoom(output.progress(content, bytes))
      return { kind: 'state', state: value.state, content }
  }
}

/** Ends the turn after a yield that no event can carry (R-TASK-7). */
function invalidYield(fault: string, stage: Stage): TurnEnd {
  log(stage, 'error', 'The agent yielded an invalid value', new AuthorError(fault))
  const text = `The agent yielded an invalid value: ${fault}`
  if (!stage.output.isVisible) return { kind: 'refused', error: new A2AError('INVALID_AGENT_RESPONSE', text) }
  return { kind: 'state', state: 'TASK_STATE_FAILED', content: { parts: [{ text }] } }
}

function takeArtifact(
  draft: ArtifactDraft,
  content: DraftContent,
  bytes: number,
  { deps, output }: Stage,
): Promise<undefined> | undefined {
  // The skills' schemas do not apply to artifacts of extensions.
  const schemas = content.extensions?.length ? undefined : deps.schemas
  if (!schemas) return afterRoom(output.artifact(draft, content, bytes))
  return schemas.output(draft.parts).then(() => afterRoom(output.artifact(draft, content, bytes)))
}

/** Lets `finally` blocks run before the turn ends, within the grace period. */
async function close(iterator: HandlerIterator, stage: Stage): Promise<void> {
  try {
    await waitAtMost(stage.deps.cancelGraceMs, iterator.return?.())
  } catch (error) {
    log(stage, 'warn', 'The agent threw while it was closed', error)
  }
}

/** Closes a handler without waiting for it. */
function abandon(iterator: HandlerIterator): void {
  const close = async () => iterator.return?.()
  close().catch(() => undefined) // the turn is over
}

function log({ deps, scope }: Stage, level: 'warn' | 'error', message: string, error?: unknown): void {
  deps.log({ level, message, agent: deps.agent.card.name, taskId: scope.taskId, error })
}

function afterRoom(room: Promise<void> | undefined): Promise<undefined> | undefined {
  return room?.then(() => undefined)
}
