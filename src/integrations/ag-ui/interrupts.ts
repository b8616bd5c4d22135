/**
 * Questions of agents as interrupts of AG-UI, and the answers to them.
 *
 * The id of an interrupt names the task and the question. It proves nothing: the agent checks that the caller may see the
 * task, and a question can be answered only while the task waits for that answer.
 */
import type { TurnEvent } from '../../client/read-turn.js'
import { type Approval, answerApproval, approvals, type Decision } from '../../model/approvals.js'
import { invalidField } from '../../model/errors.js'
import { isStruct } from '../../model/json-schema.js'
import type { Message } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import { schemaOf } from '../../model/question-schema.js'
import type { ResumeEntry } from './run-input.js'

/** The thing that an interrupt waits for: the answer to a question, or a credential. */
export type InterruptRef =
  | { readonly kind: 'question'; readonly taskId: string; readonly messageId: string; readonly place: number }
  | { readonly kind: 'auth'; readonly taskId: string; readonly turn: number; readonly seq: number }

/** The reference in an id; undefined if it cannot be one of this server. */
export function readInterruptId(id: string): InterruptRef | undefined {
  const [, messageId, place, asked] = /^question\.([\w-]+)\.(\d{1,3})\.(.+)$/s.exec(id) ?? []
  if (messageId !== undefined && asked !== undefined)
    return { kind: 'question', messageId, place: Number(place), taskId: asked }
  const [, turn, seq, taskId] = /^auth\.(\d{1,9})\.(\d{1,15})\.(.+)$/s.exec(id) ?? []
  return taskId === undefined ? undefined : { kind: 'auth', turn: Number(turn), seq: Number(seq), taskId }
}

/** The interrupts of a question, one for each tool call that needs an approval. */
export function interruptsOf(
  event: Extract<TurnEvent, { kind: 'question' | 'auth' }>,
  { taskId = '', turn }: { readonly taskId?: string | undefined; readonly turn: number },
): readonly Struct[] {
  const { text, parts, seq = 0 } = event
  const more = {
    ...(text !== '' && { message: text }),
    ...(parts.some((part) => !('text' in part)) && { metadata: { parts: parts as unknown as JsonValue } }), // parts are JSON
  }
  if (event.kind === 'auth') return [{ id: `auth.${turn}.${seq}.${taskId}`, reason: 'auth_required', ...more }]
  const { messageId = '', schema, approval } = event
  const idAt = (place: number) => `question.${messageId}.${place}.${taskId}`
  if (!approval) return [{ id: idAt(0), reason: 'input_required', ...more, ...(schema && { responseSchema: schema }) }]
  return approval.tools.map(({ id, name, args }, place) => ({
    id: idAt(place),
    reason: 'tool_call',
    toolCallId: id,
    message: approval.hint ?? `Approve ${name}?`,
    responseSchema: approvalSchema,
    metadata: { tool: { name, args: args ?? {} } },
  }))
}

const approvalSchema: Struct = {
  type: 'object',
  required: ['approved'],
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
}

/** The content of the message that answers a question. Throws unless the entries answer all of it. */
export function answerOf(
  question: Message,
  entries: readonly ResumeEntry[],
): Pick<Message, 'parts' | 'metadata' | 'extensions'> {
  const approval = approvals.read(question)
  if (approval) return answerApproval(approval, decisionsIn(approval, entries))
  const [entry, ...others] = entries
  if (others.length > 0) throw invalidField('resume', 'must have one entry for each interrupt')
  return { parts: partsOf(entry?.payload, schemaOf(question) !== undefined) }
}

/** A text-only agent gets every answer as text too. */
function partsOf(payload: JsonValue | undefined, hasForm: boolean): readonly Part[] {
  if (payload === undefined) return hasForm ? [{ data: {} }] : [{ text: 'OK' }]
  if (typeof payload === 'string') return [{ text: payload }]
  return hasForm ? [{ data: payload }] : [{ text: JSON.stringify(payload) }, { data: payload }]
}

function decisionsIn({ tools }: Approval, entries: readonly ResumeEntry[]): ReadonlyMap<string, Decision> {
  const decisions = new Map<string, Decision>()
  for (const { interruptId, payload } of entries) {
    const ref = readInterruptId(interruptId)
    const tool = ref?.kind === 'question' ? tools[ref.place] : undefined
    if (!tool || decisions.has(tool.id)) throw invalidField('resume', 'must have one entry for each interrupt')
    const { approved, reason } = isStruct(payload) ? payload : { approved: payload, reason: undefined }
    if (typeof approved !== 'boolean')
      throw invalidField('resume', `needs the payload { approved: true } or { approved: false } for ${tool.name}`)
    decisions.set(tool.id, { approved, ...(typeof reason === 'string' && reason !== '' && { reason }) })
  }
  if (decisions.size < tools.length) throw invalidField('resume', 'must have one entry for each interrupt')
  return decisions
}
