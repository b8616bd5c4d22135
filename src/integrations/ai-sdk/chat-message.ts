/** Decides what a page of the AI SDK sends: a new message, the answer to a question, or another attempt. */
import type { UIMessage } from 'ai'
import {
  answerApproval,
  type Decision,
  type Decisions,
  decisionsInText,
  type ToolApproval,
} from '../../model/approvals.js'
import { invalidField } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import { type JsonValue, type Part, type Struct, textOf } from '../../model/part.js'
import { linkedPart } from '../file-source.js'
import { approvalIdOf, askIdOf, askTool, type ContinuedMessage, placeIn } from './chunks.js'

/** A request of `useChat`. The messages come from a page: nothing in them is trusted. */
export interface ChatRequest {
  readonly chatId: string
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId?: string | undefined
  readonly messages: readonly unknown[]
}

/** The message to send, and how its answer is shown. */
export interface ChatMessage {
  readonly message: Omit<Message, 'taskId'>
  /** The task that is continued if it waits. Otherwise a new task begins. */
  readonly taskId?: string
  /** The turn of the message of the chat before this one, if that message has the same task. */
  readonly turn?: number
  /** For messages that are only an answer: whether they answer a question. They are refused if the task asks no such question. */
  readonly answers?: (question: string) => boolean
  readonly continued?: ContinuedMessage
  readonly decisions?: Decisions
}

/** The key of `ChatMark` in the metadata of messages. */
const markKey = 'urn:dragoman:chat:v1'

interface ChatMark {
  /** The answer belongs to the message of the chat that asked: it continues that message. */
  readonly continues?: boolean
  /** The user went back: the conversation continues after this task. Empty: from its beginning. */
  readonly after?: string
}

/** The mark in a message. */
export function markOf({ metadata }: Pick<Message, 'metadata'>): ChatMark {
  const mark = metadata?.[markKey]
  if (!isObject(mark)) return {}
  const { continues, after } = mark
  return { ...(continues === true && { continues }), ...(typeof after === 'string' && { after }) }
}

/** A tool call in a message of the page. */
interface ToolPart {
  readonly toolCallId: string
  readonly toolName: string
  readonly state: unknown
  readonly input: JsonValue
  readonly output: unknown
  readonly errorText: unknown
  readonly approval: Record<string, unknown> | undefined
}

/** Throws `INVALID_PARAMS` for a request that has nothing to send. */
export function chatMessageOf({ chatId, trigger, messageId, messages }: ChatRequest): ChatMessage {
  if (chatId === '') throw invalidField('id', 'must be the id of the chat')
  const last = messageAt(messages, messages.length - 1)
  if (!last) throw invalidField('messages', 'must have a message')
  if (last.role === 'assistant') return answerOf(last, chatId)
  if (last.role !== 'user') throw invalidField('messages', 'must end with a message of the user or an answer')
  const parts = last.parts.flatMap(partOf)
  if (parts.length === 0) throw invalidField('messages', 'the last message has no text, file or data')
  const before = messageAt(messages, messages.length - 2)
  const earlier = before?.role === 'assistant' ? before : undefined
  const isRegenerated = trigger === 'regenerate-message'
  if (isRegenerated || (messageId !== undefined && messageId === last.id)) {
    const replaced = isRegenerated && messageId !== undefined ? placeIn(messageId)?.taskId : undefined
    const mark: ChatMark = { after: (earlier && placeIn(earlier.id)?.taskId) ?? '' }
    const message = { ...newMessage(parts, chatId, mark), ...(replaced && { referenceTaskIds: [replaced] }) }
    return { message }
  }
  const place = earlier && placeIn(earlier.id)
  if (!earlier || !place) return { message: newMessage(parts, chatId) }
  const asked = openTools(earlier)
  const approval = asked.filter(({ approval }) => approval)
  if (approval.length > 0) return { message: typedDecision(approval, parts, chatId), ...place }
  const hasQuestion = asked.some(({ state }) => state === 'input-available')
  return { message: newMessage(parts, chatId), ...(hasQuestion && place) }
}

/** The answer that the page has put into the last message: the output of the tool `ask`, or decisions. */
function answerOf(last: ShownMessage, chatId: string): ChatMessage {
  const taskId = placeIn(last.id)?.taskId
  const asked = openTools(last)
  if (taskId === undefined || asked.length === 0)
    throw invalidField('messages', 'the last message has no open question')
  const toolCalls = last.parts.flatMap((part) => toolOf(part)?.toolCallId ?? [])
  const continued = { id: last.id, toolCalls }
  const mark: ChatMark = { continues: true }
  const approval = asked.filter((tool) => tool.approval)
  if (approval.length > 0) {
    const decisions = new Map(approval.map((tool) => [tool.toolCallId, decisionOf(tool)]))
    const { parts, metadata, extensions } = answerApproval({ tools: approval.map(toolApproval) }, decisions)
    const message = { ...newMessage(parts, chatId, mark, metadata), extensions }
    const answers = (question: string) =>
      approval.every(({ toolCallId, approval }) => approval?.id === approvalIdOf(question, toolCallId))
    return { message, taskId, answers, continued, decisions }
  }
  const answer = asked.at(-1)
  const output = answer?.state === 'output-error' ? answer.errorText : answer?.output
  if (output === undefined || answer?.state === 'input-available')
    throw invalidField('messages', 'the question in the last message is not answered')
  const part: Part = typeof output === 'string' ? { text: output } : { data: output as JsonValue }
  const answers = (question: string) => answer?.toolCallId === askIdOf(question)
  return { message: newMessage([part], chatId, mark), taskId, answers, continued }
}

/** Text about tool calls that wait for a decision: yes, no, or the reason for a no. */
function typedDecision(asked: readonly ToolPart[], parts: readonly Part[], chatId: string): ChatMessage['message'] {
  const tools = asked.map(toolApproval)
  const ids = tools.map(({ id }) => id)
  const typed = newMessage(parts, chatId)
  const reason = textOf(parts).slice(0, 10_000)
  const decisions = decisionsInText(ids, typed) ?? new Map(ids.map((id) => [id, { approved: false, reason }]))
  const { metadata, extensions } = answerApproval({ tools }, decisions)
  return { ...typed, metadata, extensions }
}

function newMessage(parts: readonly Part[], contextId: string, mark?: ChatMark, metadata: Struct = {}): Message {
  const marked: Struct = mark ? { ...metadata, [markKey]: { ...mark } } : metadata
  return {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts,
    contextId,
    ...(Object.keys(marked).length > 0 && { metadata: marked }),
  }
}

function decisionOf({ toolCallId, approval }: ToolPart): Decision {
  const { approved, reason } = approval ?? {}
  if (typeof approved !== 'boolean') throw invalidField('messages', `the tool call ${toolCallId} is not decided`)
  return { approved, ...(typeof reason === 'string' && { reason }) }
}

function toolApproval({ toolCallId, toolName, input }: ToolPart): ToolApproval {
  return { id: toolCallId, name: toolName, args: input }
}

interface ShownMessage {
  readonly id: string
  readonly role: UIMessage['role']
  readonly parts: readonly Record<string, unknown>[]
}

function messageAt(messages: readonly unknown[], place: number): ShownMessage | undefined {
  const message = messages[place]
  if (message === undefined) return undefined
  if (!isObject(message) || !Array.isArray(message.parts) || !message.parts.every(isObject))
    throw invalidField(`messages[${place}]`, 'must be a message with parts')
  const { id, role, parts } = message
  if (typeof id !== 'string') throw invalidField(`messages[${place}].id`, 'must be a string')
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw invalidField(`messages[${place}].role`, 'must be user, assistant or system')
  return { id, role, parts: parts as Record<string, unknown>[] }
}

/** The question or the approvals in the last turn of a message. */
function openTools({ parts }: ShownMessage): readonly ToolPart[] {
  const lastStep = parts.findLastIndex(({ type }) => type === 'step-start')
  const tools = parts.slice(lastStep + 1).flatMap((part) => toolOf(part) ?? [])
  const approval = tools.filter(({ state }) => state === 'approval-requested' || state === 'approval-responded')
  return approval.length > 0 ? approval : tools.filter(({ toolName, approval }) => toolName === askTool && !approval)
}

function toolOf(part: Record<string, unknown>): ToolPart | undefined {
  const { type, toolCallId, toolName, state, input, output, errorText, approval } = part
  if (type !== 'dynamic-tool' || typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined
  // Values from JSON.
  const given = { input: (input ?? {}) as JsonValue, approval: isObject(approval) ? approval : undefined }
  return { toolCallId, toolName, state, output, errorText, ...given }
}

function partOf(part: Record<string, unknown>): Part[] {
  const { type, text, url, mediaType, filename, data } = part
  if (type === 'text' && typeof text === 'string') return [{ text }]
  if (type === 'file' && typeof url === 'string') {
    const about = {
      ...(typeof mediaType === 'string' && { mediaType }),
      ...(typeof filename === 'string' && { filename }),
    }
    return [{ ...linkedPart(url, (problem) => invalidField('file', problem)), ...about }]
  }
  // A value from JSON.
  if (typeof type === 'string' && type.startsWith('data-') && data !== undefined) return [{ data: data as JsonValue }]
  return []
}
