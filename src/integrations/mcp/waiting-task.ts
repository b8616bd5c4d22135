/** Tasks that wait for their caller: the request state that names one, its question, and the message that answers. */
import type { TurnEvent } from '../../client/read-turn.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import type { Message } from '../../model/message.js'
import type { Part, Struct } from '../../model/part.js'
import { schemaOf } from '../../model/question-schema.js'
import type { Task } from '../../model/task.js'
import { parseJson } from '../json.js'
import { answerParts } from './form.js'
import type { ToolAgent } from './tools.js'

/** The last event of a turn that asks for an answer or a credential. */
export type Question = Extract<TurnEvent, { kind: 'question' | 'auth' }>

/** A task that waits for its caller. */
export interface Waiting {
  readonly agent: ToolAgent
  readonly taskId: string
  readonly turn: number
  /** For a credential: the position of the request in the log; 0 if the agent sends no positions. */
  readonly authSeq?: number | undefined
}

/** The request state names the question. It is not signed: the engine checks that the caller may see the task. */
export function stateOf({ agent, taskId, turn, authSeq }: Waiting): string {
  return JSON.stringify([agent.key, taskId, turn, ...(authSeq === undefined ? [] : [authSeq])])
}

/** The task that a request state names; undefined if the state is not ours. */
export function waitingIn(state: string, agents: ReadonlyMap<string, ToolAgent>): Waiting | undefined {
  const [key, taskId, turn, authSeq] = listIn(state)
  const agent = typeof key === 'string' ? agents.get(key) : undefined
  if (!agent || typeof taskId !== 'string' || !Number.isSafeInteger(turn)) return undefined
  return { agent, taskId, turn: Number(turn), ...(typeof authSeq === 'number' && { authSeq }) }
}

function listIn(state: string): readonly unknown[] {
  const list = parseJson(state, undefined)
  return Array.isArray(list) ? list : []
}

/** The id of the message that answers a question: the same for a repeated answer. */
export function answerId({ taskId, turn }: Waiting): string {
  return `mcp-${taskId.slice(0, 200)}-${turn}`
}

/** The question that a message answered. */
export function questionBefore({ history = [] }: Task, answer: Message): Message | undefined {
  return history.slice(0, history.indexOf(answer)).findLast(({ role }) => role === 'ROLE_AGENT')
}

/** The content of the message that answers, from the content of the form. */
export function partsIn(content: Record<string, unknown> | undefined, question: Message | undefined): readonly Part[] {
  return answerParts((content ?? {}) as Struct, schemaOf(question)) // it was JSON
}

/** The first link of a request for a credential that a browser may open. */
export function urlIn({ parts, text: said }: Question): string | undefined {
  const linked = parts.flatMap((part) => ('url' in part ? [part.url] : []))
  const found = [...linked, ...(said.match(/https?:\/\/[^\s<>"')\]]+/g) ?? [])]
  return found.find((url) => canParseUrl(url) && isSafe(new URL(url)))
}

function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
}
