/** Checks streaming: without a message only subscriptions; with `--send` a whole stream. */
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
import { contentText, stateName } from '../task-text.js'
import { type CheckContext, type Finding, outcomeText, type Probe, probe } from './probe.js'

const check = 'streaming'

export async function checkSubscription(card: AgentCard, entry: AgentInterface, context: CheckContext): Promise<void> {
  if (!card.capabilities.streaming) return
  const { outcome } = await probe(context, { card, entry, identity: context.identity }, async (agent, signal) => {
    for await (const _ of agent.subscribeToTask({ id: randomUUID() }, { signal })) return
  })
  if ('refusal' in outcome && outcome.refusal === 'UNSUPPORTED_OPERATION' && /does not exist in/.test(outcome.message))
    return
  const isRight = 'refusal' in outcome && outcome.refusal === 'TASK_NOT_FOUND'
  context.report({
    check: 'subscription',
    verdict: isRight ? 'ok' : 'failure' in outcome ? 'problem' : 'warning',
    what: isRight
      ? 'a subscription to an unknown task is rejected correctly'
      : `a subscription to an unknown task gets ${outcomeText(outcome)}`,
    ...(!isRight && { advice: 'answer TASK_NOT_FOUND before the stream starts' }),
  })
}

export async function checkSending(
  card: AgentCard,
  entry: AgentInterface,
  context: CheckContext,
  text: string,
): Promise<void> {
  if (card.capabilities.streaming) await checkStream(card, entry, context, text)
  else await checkAnswer(card, entry, context, text)
}

async function checkAnswer(card: AgentCard, entry: AgentInterface, context: CheckContext, text: string): Promise<void> {
  const { outcome, ms } = await probe(context, { card, entry, identity: context.identity }, (agent, signal) =>
    agent.ask(text, { signal }),
  )
  if (!('value' in outcome))
    return context.report({
      check: 'sending',
      verdict: 'problem',
      what: `the message ${text} gets ${outcomeText(outcome)}`,
    })
  const { state, text: answer } = outcome.value
  const fault = failedTask(text, state, answer)
  context.report(
    fault ?? {
      check: 'sending',
      verdict: 'ok',
      what: `the message ${text} was answered in ${ms} ms: ${stateText(state)}`,
    },
  )
  const trial = { ...card, capabilities: { ...card.capabilities, streaming: true } }
  const stream = await probe(context, { card: trial, entry, identity: context.identity }, (agent, signal) =>
    follow(agent, text, signal),
  )
  const isRefused = 'refusal' in stream.outcome
  context.report({
    check,
    verdict: isRefused ? 'ok' : 'warning',
    what: isRefused
      ? 'not declared, and rejected'
      : `not declared, but a streaming call gets ${outcomeText(stream.outcome)}`,
    ...(!isRefused && { advice: 'declare it in the card, or answer UnsupportedOperationError' }),
  })
}

interface StreamSummary {
  readonly kinds: readonly string[]
  readonly state: TaskState | undefined
  readonly wasReset: boolean
  /** The text of the last status message. */
  readonly lastText: string
}

/** Maximum length of a status message in a finding. */
const maxReasonLength = 200

async function checkStream(card: AgentCard, entry: AgentInterface, context: CheckContext, said: string): Promise<void> {
  const tried = await probe(context, { card, entry, identity: context.identity }, (agent, signal) =>
    follow(agent, said, signal),
  )
  const { outcome, ms, wire } = tried
  // A stream that this client aborted may end within an event.
  const isAborted = 'failure' in outcome && outcome.failure === 'timeout'
  const text = textOf(wire)
  for (const fault of sseFaults(isAborted ? text.slice(0, text.lastIndexOf('\n\n') + 2) : text)) {
    context.report({
      check: 'events',
      verdict: 'problem',
      what: fault,
      advice: 'send one `data: ` line with JSON for each event, followed by an empty line',
    })
  }
  const fault = 'value' in outcome ? orderFault(outcome.value, entry) : undefined
  if ('value' in outcome && fault === undefined) {
    const { kinds, state, lastText } = outcome.value
    const events = `${kinds.length} event${kinds.length === 1 ? '' : 's'} in ${ms} ms`
    context.report({
      check,
      verdict: 'ok',
      what: `declared, and works: ${events}, ${state ? stateText(state) : 'a message'}`,
    })
    const failure = failedTask(said, state, lastText)
    if (failure) context.report(failure)
  } else
    context.report({
      check,
      verdict: 'problem',
      what: `declared, but the message ${said} ${fault ?? `gets ${failureText(tried)}`}`,
      advice: 'correct the stream, or do not declare streaming',
    })
}

/** A warning if the task failed or was rejected. */
function failedTask(text: string, state: TaskState | undefined, why: string): Finding | undefined {
  if (state !== 'TASK_STATE_FAILED' && state !== 'TASK_STATE_REJECTED') return undefined
  const reason = why === '' ? '' : `: ${why.slice(0, maxReasonLength)}`
  return {
    check: 'sending',
    verdict: 'warning',
    what: `the task of the message ${text} ${state === 'TASK_STATE_FAILED' ? 'failed' : 'was rejected'}${reason}`,
    advice: 'read the log of the agent; --send TEXT sends another message',
  }
}

function failureText({ outcome, wire }: Probe<unknown>): string {
  const head = wire.findLast(({ direction, status }) => direction === 'response' && status === 200)
  const type = head?.headers?.['content-type']
  const isStream = type === undefined || /^text\/event-stream/i.test(type)
  return isStream ? outcomeText(outcome) : `${type} instead of text/event-stream`
}

async function follow(agent: AgentClient, text: string, signal: AbortSignal): Promise<StreamSummary> {
  const kinds: string[] = []
  let state: TaskState | undefined
  let taskId: string | undefined
  let lastText = ''
  for await (const update of agent.stream(text, { signal })) {
    kinds.push(Object.keys(update)[0] ?? '')
    const status = statusIn(update)
    if (status) {
      state = status.state
      lastText = status.message ? contentText(status.message.parts) : ''
    }
    taskId = 'task' in update ? update.task.id : taskId
  }
  // Do not leave a task behind that waits for an answer.
  if (taskId !== undefined && state !== undefined && !isTerminal(state))
    await agent.cancelTask({ id: taskId }, { signal }).catch(() => undefined)
  return { kinds, state, wasReset: kinds.includes('reset'), lastText }
}

function statusIn(update: Update): Task['status'] | undefined {
  if ('task' in update) return update.task.status
  return 'statusUpdate' in update ? update.statusUpdate.status : undefined
}

function orderFault(
  { kinds, state, wasReset }: StreamSummary,
  { protocolVersion }: AgentInterface,
): string | undefined {
  const [first] = kinds
  if (first === undefined) return 'gets an empty stream'
  if (first === 'message') return kinds.length > 1 ? 'gets a stream with events after a message' : undefined
  if (wasReset) return 'gets a stream that breaks before its end'
  if (protocolVersion.startsWith('1.') && first !== 'task')
    return `gets a stream that starts with ${first} instead of the task`
  const isComplete = state !== undefined && (isTerminal(state) || isInterrupted(state))
  return isComplete ? undefined : `gets a stream that ends while the task is ${stateText(state)}`
}

function textOf(wire: readonly WireEntry[]): string {
  return wire
    .filter(({ direction, binding }) => direction === 'event' && binding !== 'GRPC')
    .map(({ body }) => String(body))
    .join('')
}

function stateText(state: TaskState | undefined): string {
  return state === undefined ? 'in no state' : stateName(state)
}

/** Checks the form of a stream of server-sent events; returns each kind of fault once. */
export function sseFaults(text: string): string[] {
  const faults = new Set<string>()
  const lines = text.split(/\r\n|\r|\n/)
  const rest = lines.pop() ?? ''
  let data: string[] = []
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) checkData(data.join('\n'), faults)
      data = []
    } else if (line.startsWith('data:')) data.push(line.slice('data:'.length))
    else if (!/^(:|id(:|$)|event(:|$)|retry(:|$)|data$)/.test(line))
      faults.add(`a line is not a field of an event: ${JSON.stringify(line.slice(0, 60))}`)
  }
  if (data.length > 0 || rest !== '') faults.add('no empty line after the last event')
  return [...faults]
}

function checkData(data: string, faults: Set<string>): void {
  try {
    JSON.parse(data)
  } catch {
    faults.add(`an event is not JSON: ${JSON.stringify(data.trim().slice(0, 60))}`)
  }
}
