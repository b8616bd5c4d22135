/** Streaming: what can be known without sending anything, and with `--send` a stream from end to end. */
import { randomUUID } from 'node:crypto'
import {
  type AgentCard,
  type AgentClient,
  type AgentInterface,
  isInterrupted,
  isTerminal,
  type Task,
  type TaskState,
  type Update,
  type WireEntry,
} from '../../client/index.js'
import { contentText } from '../task-text.js'
import type { Finding } from './finding.js'
import { type Means, outcomeText, type Tried, tryCall } from './patient.js'
import { sseFaults } from './sse-form.js'

const check = 'streaming'

export async function examineSubscription(card: AgentCard, entry: AgentInterface, means: Means): Promise<void> {
  if (!card.capabilities.streaming) return
  const { outcome } = await tryCall(means, { card, entry, identity: means.identity }, async (agent, signal) => {
    for await (const _ of agent.subscribeToTask({ id: randomUUID() }, { signal })) return
  })
  if ('refusal' in outcome && outcome.refusal === 'UNSUPPORTED_OPERATION' && /does not exist in/.test(outcome.message))
    return
  const isRight = 'refusal' in outcome && outcome.refusal === 'TASK_NOT_FOUND'
  means.report({
    check: 'subscription',
    verdict: isRight ? 'ok' : 'failure' in outcome ? 'problem' : 'warning',
    what: isRight
      ? 'following a task that does not exist is refused properly'
      : `following a task that does not exist: ${outcomeText(outcome)}`,
    ...(!isRight && { advice: 'answer TASK_NOT_FOUND before a stream begins' }),
  })
}

export async function examineSending(
  card: AgentCard,
  entry: AgentInterface,
  means: Means,
  text: string,
): Promise<void> {
  if (card.capabilities.streaming) await examineStream(card, entry, means, text)
  else await examineAnswer(card, entry, means, text)
}

async function examineAnswer(card: AgentCard, entry: AgentInterface, means: Means, text: string): Promise<void> {
  const { outcome, ms } = await tryCall(means, { card, entry, identity: means.identity }, (agent, signal) =>
    agent.ask(text, { signal }),
  )
  if (!('value' in outcome))
    return means.report({
      check: 'sending',
      verdict: 'problem',
      what: `${text} is answered with ${outcomeText(outcome)}`,
    })
  const { state, text: answer } = outcome.value
  const fault = failedTask(text, state, answer)
  means.report(fault ?? { check: 'sending', verdict: 'ok', what: `${text} was answered in ${ms} ms: ${spoken(state)}` })
  const trial = { ...card, capabilities: { ...card.capabilities, streaming: true } }
  const stream = await tryCall(means, { card: trial, entry, identity: means.identity }, (agent, signal) =>
    follow(agent, text, signal),
  )
  const isRefused = 'refusal' in stream.outcome
  means.report({
    check,
    verdict: isRefused ? 'ok' : 'warning',
    what: isRefused ? 'not declared, and refused' : `not declared, but tried: ${outcomeText(stream.outcome)}`,
    ...(!isRefused && { advice: 'declare it in the card, or answer UnsupportedOperationError' }),
  })
}

interface Followed {
  readonly kinds: readonly string[]
  readonly state: TaskState | undefined
  readonly wasReset: boolean
  /** The text of the last status. */
  readonly lastWords: string
}

/** Characters of a status message in a finding. */
const maxReason = 200

async function examineStream(card: AgentCard, entry: AgentInterface, means: Means, said: string): Promise<void> {
  const tried = await tryCall(means, { card, entry, identity: means.identity }, (agent, signal) =>
    follow(agent, said, signal),
  )
  const { outcome, ms, wire } = tried
  // A stream that we left in the middle is not to blame for its end.
  const isLeft = 'failure' in outcome && outcome.failure === 'timeout'
  const text = textOf(wire)
  for (const fault of sseFaults(isLeft ? text.slice(0, text.lastIndexOf('\n\n') + 2) : text)) {
    means.report({
      check: 'events',
      verdict: 'problem',
      what: fault,
      advice: 'one `data: ` line with JSON for each event, and an empty line behind it',
    })
  }
  const fault = 'value' in outcome ? orderFault(outcome.value, entry) : undefined
  if ('value' in outcome && fault === undefined) {
    const { kinds, state, lastWords } = outcome.value
    const events = `${kinds.length} event${kinds.length === 1 ? '' : 's'} in ${ms} ms`
    means.report({
      check,
      verdict: 'ok',
      what: `declared, and works: ${events}, ${state ? spoken(state) : 'a message'}`,
    })
    const failure = failedTask(said, state, lastWords)
    if (failure) means.report(failure)
  } else
    means.report({
      check,
      verdict: 'problem',
      what: `declared, but ${said} ${fault ?? `is answered with ${failureText(tried)}`}`,
      advice: 'mend the stream, or declare no streaming',
    })
}

/** A task that was made, and whose agent could not do it. */
function failedTask(text: string, state: TaskState | undefined, why: string): Finding | undefined {
  if (state !== 'TASK_STATE_FAILED' && state !== 'TASK_STATE_REJECTED') return undefined
  const reason = why === '' ? '' : `: ${why.slice(0, maxReason)}`
  return {
    check: 'sending',
    verdict: 'warning',
    what: `the task of ${text} ${state === 'TASK_STATE_FAILED' ? 'failed' : 'was rejected'}${reason}`,
    advice: 'the log of the agent may say more; --send TEXT sends other words',
  }
}

function failureText({ outcome, wire }: Tried<unknown>): string {
  const head = wire.findLast(({ direction, status }) => direction === 'response' && status === 200)
  const type = head?.headers?.['content-type']
  const isStream = type === undefined || /^text\/event-stream/i.test(type)
  return isStream ? outcomeText(outcome) : `${type} and no text/event-stream`
}

async function follow(agent: AgentClient, text: string, signal: AbortSignal): Promise<Followed> {
  const kinds: string[] = []
  let state: TaskState | undefined
  let taskId: string | undefined
  let lastWords = ''
  for await (const update of agent.stream(text, { signal })) {
    kinds.push(Object.keys(update)[0] ?? '')
    const status = statusIn(update)
    if (status) {
      state = status.state
      lastWords = status.message ? contentText(status.message.parts) : ''
    }
    taskId = 'task' in update ? update.task.id : taskId
  }
  // What waits for an answer that will never come is not left behind.
  if (taskId !== undefined && state !== undefined && !isTerminal(state))
    await agent.cancelTask({ id: taskId }, { signal }).catch(() => undefined)
  return { kinds, state, wasReset: kinds.includes('reset'), lastWords }
}

function statusIn(update: Update): Task['status'] | undefined {
  if ('task' in update) return update.task.status
  return 'statusUpdate' in update ? update.statusUpdate.status : undefined
}

function orderFault({ kinds, state, wasReset }: Followed, { protocolVersion }: AgentInterface): string | undefined {
  const [first] = kinds
  if (first === undefined) return 'is answered with an empty stream'
  if (first === 'message') return kinds.length > 1 ? 'is answered with a message and more behind it' : undefined
  if (wasReset) return 'is answered with a stream that broke off in the middle'
  if (protocolVersion.startsWith('1.') && first !== 'task')
    return `is answered with a stream that begins with ${first} and not with the task`
  const isWhole = state !== undefined && (isTerminal(state) || isInterrupted(state))
  return isWhole ? undefined : `is answered with a stream that ends while the task is ${spoken(state)}`
}

function textOf(wire: readonly WireEntry[]): string {
  return wire
    .filter(({ direction, binding }) => direction === 'event' && binding !== 'GRPC')
    .map(({ body }) => String(body))
    .join('')
}

function spoken(state: TaskState | undefined): string {
  return state === undefined ? 'in no state' : state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}
