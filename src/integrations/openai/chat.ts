/** `POST /v1/chat/completions`: a turn as a chat completion. A client that leaves cancels the task. */
import { isLast, type TurnEvent } from '../../client/turn-event.js'
import type { Usage } from '../../model/usage.js'
import type { Visit } from '../../server/endpoints.js'
import { type HttpAnswer, jsonHeaders } from '../../transports/exchange.js'
import { frame } from '../../transports/sse.js'
import { ApiError, errorBody } from './errors.js'
import { failureText, stateAfter, TextJoiner, tokensOf } from './output.js'
import { followTurn, idOf, type StartedTurn, timeOf } from './turns.js'

interface ChatOptions {
  readonly stream: boolean
  readonly includesUsage: boolean
}

/** Answers a chat completion: as a stream if the request asks for one, otherwise when the turn has ended. */
export async function answerChat(turn: StartedTurn, visit: Visit, options: ChatOptions): Promise<HttpAnswer> {
  const events = untilLeft(turn, visit)
  if (options.stream)
    return await visit.stream({
      items: chunksOf(turn, events, options),
      encode: (chunk) => frame(JSON.stringify(chunk)),
      encodeEnd: () => frame('[DONE]'),
      encodeError: (error) => frame(JSON.stringify({ error: errorBody(error) })),
    })
  return { status: 200, headers: jsonHeaders, body: JSON.stringify(await completionOf(turn, events)) }
}

/** The events of the turn. Cancels the task if the client leaves before the last one. */
async function* untilLeft(turn: StartedTurn, { caller, signal }: Visit): AsyncGenerator<TurnEvent, void, void> {
  const { agent, taskId } = turn
  let isRunning = true
  const cancel = () => {
    if (!isRunning) return
    isRunning = false
    // It fails if the task has ended meanwhile.
    agent.service.cancelTask({ id: taskId }, { caller }).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  try {
    // Without the signal: the stream ends because the task is cancelled.
    for await (const event of followTurn(turn, { caller })) {
      if (isLast(event)) isRunning = false
      yield event
    }
  } catch (error) {
    // The server closes: another replica continues the task.
    isRunning = false
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

function headOf(turn: StartedTurn, object: string) {
  return {
    id: `chatcmpl-${idOf(turn)}`,
    object,
    created: timeOf(turn.message),
    model: turn.agent.card.name,
    system_fingerprint: null,
  }
}

async function completionOf(turn: StartedTurn, events: AsyncIterable<TurnEvent>) {
  let joiner = new TextJoiner()
  let last: TurnEvent | undefined
  let usage: Usage | undefined
  for await (const event of events) {
    if (event.kind === 'usage') usage = event.usage
    if (event.kind === 'reset') joiner = new TextJoiner()
    else joiner.add(event)
    last = event
  }
  assertAnswered(last)
  const message = { role: 'assistant', content: joiner.text, refusal: null, annotations: [] }
  return {
    ...headOf(turn, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: usageOf(usage),
    metadata: { a2a_state: stateAfter(last) },
  }
}

async function* chunksOf(turn: StartedTurn, events: AsyncIterable<TurnEvent>, { includesUsage }: ChatOptions) {
  const head = { ...headOf(turn, 'chat.completion.chunk'), ...(includesUsage && { usage: null }) }
  const chunk = (delta: object, finish_reason: 'stop' | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  })
  let joiner = new TextJoiner()
  let last: TurnEvent | undefined
  let usage: Usage | undefined
  for await (const event of events) {
    if (event.kind === 'usage') usage = event.usage
    // Text that was sent cannot be taken back.
    if (event.kind === 'reset') joiner = new TextJoiner(joiner.text !== '')
    const content = joiner.add(event)
    if (event.kind === 'begin') yield chunk({ role: 'assistant', content: '', refusal: null })
    else if (content !== '') yield chunk({ content })
    last = event
  }
  assertAnswered(last)
  yield { ...chunk({}, 'stop'), metadata: { a2a_state: stateAfter(last) } }
  if (includesUsage) yield { ...head, choices: [], usage: usageOf(usage) }
}

/** Chat completions have no member for the failure of a turn. */
function assertAnswered(last: TurnEvent | undefined): void {
  if (last?.kind !== 'end' || last.state === 'TASK_STATE_COMPLETED') return
  const code = stateAfter(last)
  throw new ApiError('INVALID_AGENT_RESPONSE', failureText(last), { status: 500, code, isRetried: false })
}

function usageOf(usage: Usage | undefined) {
  const { input, output, cached, total } = tokensOf(usage)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached },
  }
}
