/**
 * An A2A agent as a node of a graph. A question of the agent interrupts the graph, and LangGraph runs a node that
 * interrupted again from its beginning. So each message has an idempotency key made of the thread and the node's place in
 * it: the agent recognises the repeated message, and the node finds its task again.
 */
import type { MessageInput } from '../../client/agent-client.js'
import { isLast, type TurnEvent } from '../../client/turn-event.js'
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { type JsonValue, type Part, type Struct, textOf } from '../../model/part.js'
import { schemaOf } from '../../model/question-schema.js'
import type { Task } from '../../model/task.js'
import { endText, sendTurn, TurnOutput } from '../agent-tools.js'
import { toJson } from '../json.js'
import { type ClientOrAddress, lazyClient } from '../lazy-client.js'
import { digest, textIn } from './graph.js'

/** The result of an agent, for the state of the graph. */
export interface NodeResult {
  readonly text: string
  /** The values of all data parts. */
  readonly data: readonly JsonValue[]
  /** Absent if the agent answered without a task. */
  readonly taskId?: string
  readonly contextId?: string
}

/** Options of `asNode`. */
export interface AsNodeOptions<State, Update> {
  /** Returns the message for the agent. Default: the text of the last message in `state.messages`. */
  readonly input?: (state: State) => MessageInput
  /** Returns the update of the state. Default: `{ messages }` with the text of the agent. */
  readonly output?: (result: NodeResult) => Update
}

/** The members of a node's configuration that are used. */
export interface NodeConfig {
  readonly configurable?: { readonly [name: string]: unknown }
  readonly signal?: AbortSignal
  readonly writer?: (chunk: unknown) => void
  readonly interrupt?: (value: unknown) => unknown
}

/** The update of a node without the option `output`. */
export interface MessagesUpdate {
  messages: { role: 'assistant'; content: string }[]
}

const optionNames = { input: 'function', output: 'function' } satisfies NamesOf<AsNodeOptions<unknown, unknown>>

/**
 * Returns a node that calls an agent. A question of the agent interrupts the graph with `{ agent, question, taskId }`; the
 * resumed graph sends the answer. Throws if the task fails, or is rejected or cancelled.
 *
 * ```ts
 * graph.addNode('tailor', asNode('localhost:8001', { input: (s) => s.request, output: (r) => ({ suit: r.text }) }))
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript cannot infer the state from the graph that the node is added to.
export function asNode<State = any, Update = MessagesUpdate>(
  client: ClientOrAddress,
  options: AsNodeOptions<State, Update> = {},
): (state: State, config: NodeConfig) => Promise<Update> {
  assertOptions('asNode', options, optionNames)
  const open = lazyClient(client)
  const { input = lastMessage, output = messagesUpdate as (result: NodeResult) => Update } = options
  return async (state, config) => {
    const agent = await open()
    const { name } = agent.card
    const { signal } = config
    const keyOf = keysOf(config)
    const send = (message: Content, number: number) => {
      const key = keyOf(number)
      const request = { message: { ...message, messageId: key, role: 'ROLE_USER' as const } }
      return readToEnd(sendTurn(agent, request, { signal, idempotencyKey: key }), name, config)
    }
    let sent = 0
    let turn = await send(contentOf(input(state)), sent)
    for (;;) {
      const { last, result } = turn
      if (last.kind === 'end') {
        if (last.state !== 'TASK_STATE_COMPLETED') throw new Error(endText(last))
        return output(result)
      }
      const { taskId = '' } = result
      const answer = interrupt(last, name, taskId, config)
      if (last.kind === 'question') {
        sent += 1
        turn = await send({ parts: answerParts(answer), taskId }, sent)
      } else turn = turnOf(await agent.task(taskId).wait(signal ? { signal } : {})) // a credential is no message
    }
  }
}

type Content = Pick<Message, 'parts' | 'taskId' | 'contextId'>

type LastEvent = Extract<TurnEvent, { kind: 'question' | 'auth' | 'end' }>

/** The last event of a turn, and the result so far. */
interface EndedTurn {
  readonly last: LastEvent
  readonly result: NodeResult
}

/** Reads a turn to its end and reports its text and progress to the stream `custom` of the graph. */
async function readToEnd(events: AsyncIterable<TurnEvent>, agent: string, { writer }: NodeConfig): Promise<EndedTurn> {
  const output = new TurnOutput()
  let ids: Pick<NodeResult, 'taskId' | 'contextId'> = {}
  for await (const event of events) {
    output.add(event)
    if (event.kind === 'begin') {
      const { taskId, contextId } = event
      ids = { ...(taskId !== undefined && { taskId }), ...(contextId !== undefined && { contextId }) }
    } else if (event.kind === 'text') writer?.({ agent, text: event.text })
    else if (event.kind === 'progress' && event.text !== '') writer?.({ agent, progress: event.text })
    else if (isLast(event)) {
      const text = [output.text, event.kind === 'end' ? event.text : ''].filter(Boolean).join('\n')
      return { last: event, result: { text, data: output.data, ...ids } }
    }
  }
  throw new A2AError('INVALID_AGENT_RESPONSE', `The stream of ${agent} ended before its task`)
}

/** The turn of a task that has ended or waits. */
function turnOf({ id, contextId, status, artifacts = [] }: Task): EndedTurn {
  const parts = artifacts.flatMap((artifact) => artifact.parts)
  const said = status.message?.parts ?? []
  const text = [...artifacts.map(textOf), textOf(said)].filter(Boolean).join('\n')
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  const result = { text, data, taskId: id, contextId }
  const schema = schemaOf(status.message)
  const question = { text: textOf(said), parts: said }
  if (status.state === 'TASK_STATE_AUTH_REQUIRED') return { last: { kind: 'auth', ...question }, result }
  if (status.state === 'TASK_STATE_INPUT_REQUIRED')
    return { last: { kind: 'question', ...question, ...(schema && { schema }) }, result }
  return { last: { kind: 'end', state: status.state, text: textOf(said) }, result }
}

/** Interrupts the graph, or returns the answer if the graph was resumed with one. */
function interrupt(
  question: Exclude<LastEvent, { kind: 'end' }>,
  agent: string,
  taskId: string,
  config: NodeConfig,
): unknown {
  // LangGraph's own function takes a second argument, which the type of the member omits.
  const ask = config.interrupt as ((value: Struct, options?: { responseSchema: Struct }) => unknown) | undefined
  if (!ask)
    throw new Error(`${agent} asked a question, and only nodes of @langchain/langgraph 1 can interrupt their graph`)
  const state = question.kind === 'auth' ? 'auth-required' : 'input-required'
  const value = { agent, state, question: question.text, taskId }
  const schema = question.kind === 'question' ? question.schema : undefined
  return schema ? ask(value, { responseSchema: schema }) : ask(value)
}

/** Keys of the messages that the node sends: the same whenever LangGraph runs this node at this place again. */
function keysOf({ configurable = {} }: NodeConfig): (number: number) => string {
  const { thread_id: thread, checkpoint_ns: place } = configurable
  // Without a thread the graph has no memory, and no node runs again.
  if (typeof thread !== 'string' || typeof place !== 'string') return () => crypto.randomUUID()
  return (number) => digest('node', thread, place, String(number))
}

function contentOf(input: MessageInput): Content {
  if (typeof input === 'string') return { parts: [{ text: input }] }
  return 'parts' in input ? input : { parts: input }
}

function answerParts(answer: unknown): readonly Part[] {
  if (typeof answer === 'string') return [{ text: answer }]
  return [{ data: toJson(answer) ?? null, mediaType: 'application/json' }]
}

function lastMessage(state: unknown): string {
  const messages: unknown = isObject(state) ? state.messages : undefined
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  const text = isObject(last) ? textIn(last.content) : ''
  if (text === '') throw new TypeError('The state has no `messages` with text; pass `input` to asNode')
  return text
}

function messagesUpdate({ text }: NodeResult): MessagesUpdate {
  return { messages: [{ role: 'assistant', content: text }] }
}
