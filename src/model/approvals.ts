/**
 * The extension `https://kagent.dev/extensions/hitl/v1`: an agent asks whether it may call tools. The question and the
 * answer are metadata of messages. For callers without the extension the question is a form (R11-EXT-4).
 */
import { isJson } from './copy-json.js'
import { clip, type FieldViolation } from './errors.js'
import type { Carrier, Extension } from './extension.js'
import { isStruct } from './json-schema.js'
import type { Message } from './message.js'
import { AuthorError, assertOptions } from './option-names.js'
import { type DataPart, type JsonValue, type Part, type Struct, textOf } from './part.js'
import { schemaMediaType } from './question-schema.js'
import { sizeOf } from './size-of.js'

/** A tool call that needs an approval. */
export interface ToolApproval {
  /** Identifies the call; unique in its question. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  readonly args: JsonValue
}

/** The question whether an agent may call tools. */
export interface Approval {
  /** A sentence for the person who decides. */
  readonly hint?: string
  readonly tools: readonly ToolApproval[]
}

/** The decision about one tool call. */
export interface Decision {
  readonly approved: boolean
  /** Why the call was rejected. */
  readonly reason?: string
}

/** Decisions, by the id of the tool call. */
export type Decisions = ReadonlyMap<string, Decision>

const uri = 'https://kagent.dev/extensions/hitl/v1'

/** Approval of tool calls: `approve([…])` asks, `turn.approvals` has the decisions. */
export const approvals: Omit<Extension<Approval>, 'with'> = {
  uri,
  key: uri,
  description: 'Questions whether the agent may call tools',
  read: readApproval,
}

const maxTools = 100
const maxName = 255
const maxArgs = 100_000
const maxReason = 10_000

/** Throws for tools that cannot be asked about. */
export function assertTools(tools: unknown): asserts tools is readonly ToolApproval[] {
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > maxTools)
    throw new AuthorError(`\`approve\` takes a list of 1 to ${maxTools} tools: [{ id, name, args }]`)
  const ids = new Set<string>()
  for (const tool of tools as unknown[]) {
    assertOptions('approve', tool, { id: 'string', name: 'string', args: true })
    const { id, name, args } = tool as ToolApproval
    if (!isName(id) || !isName(name))
      throw new AuthorError('`approve`: each tool has an `id` and a `name` of 1 to 255 characters')
    if (args !== undefined && !isJson(args, 0)) throw new AuthorError('`approve`: `args` must be JSON')
    if (sizeOf(args, maxArgs) > maxArgs) throw new AuthorError(`\`approve\`: \`args\` exceeds ${maxArgs} characters`)
    if (ids.has(id)) throw new AuthorError('`approve`: the ids of tools must be unique')
    ids.add(id)
  }
}

/** The metadata of a question. */
export function approvalRequest({ hint, tools }: Approval): Struct {
  return {
    type: 'tool_approval_request',
    ...(hint !== undefined && { hint }),
    tools: tools.map(({ id, name, args }) => ({ id, call_id: id, name, args: args ?? {} })),
  }
}

/** The approval that a question asks for; undefined if it asks for none that can be answered. */
function readApproval(question: Carrier | undefined): Approval | undefined {
  const request = question?.metadata?.[uri]
  if (!isStruct(request) || request.type !== 'tool_approval_request' || !Array.isArray(request.tools)) return undefined
  const tools = (request.tools as readonly JsonValue[]).flatMap((tool) =>
    isStruct(tool) && isName(tool.id) && isName(tool.name)
      ? [{ id: tool.id as string, name: tool.name as string, args: tool.args ?? {} }]
      : [],
  )
  if (tools.length === 0 || tools.length > maxTools || tools.length !== request.tools.length) return undefined
  return { ...(typeof request.hint === 'string' && { hint: request.hint }), tools }
}

/** The key of `{ tools: [id] }` in the metadata of the form's part: the form itself has no ids. */
const formKey = 'urn:dragoman:approval:v1'

/** The text and the form of a question, for callers with and without the extension. */
export function approvalParts({ hint, tools }: Approval): readonly Part[] {
  const lines = tools.map(({ name, args }) => {
    const shown = args === undefined ? '' : ` ${clip(JSON.stringify(args))}`
    return `Approve ${name}${shown}?`
  })
  const properties: Record<string, JsonValue> = {}
  for (const [place, { name }] of tools.entries()) {
    const [approved, reason] = fieldsOf(place, tools.length)
    properties[approved] = { type: 'boolean', title: `Approve ${name}` }
    properties[reason] = { type: 'string', title: `Reason, if ${name} is rejected`, maxLength: maxReason }
  }
  const required = tools.map((_, place) => fieldsOf(place, tools.length)[0])
  const form: DataPart = {
    data: { type: 'object', properties, required, additionalProperties: false },
    mediaType: schemaMediaType,
    metadata: { [formKey]: { tools: tools.map(({ id }) => id) } },
  }
  return [{ text: [...(hint === undefined ? [] : [hint]), ...lines].join('\n') }, form]
}

/** The names of the fields of one tool. */
function fieldsOf(place: number, count: number): readonly [approved: string, reason: string] {
  return count === 1 ? ['approved', 'reason'] : [`approved_${place + 1}`, `reason_${place + 1}`]
}

/** The ids of the tool calls that a question asks about; undefined if it is no approval. */
export function approvalIds(question: Message | undefined): readonly string[] | undefined {
  for (const { metadata } of question?.parts ?? []) {
    const mark = metadata?.[formKey]
    if (!isStruct(mark) || !Array.isArray(mark.tools)) continue
    // A relay forwards the parts of other agents, which may not keep to the bounds.
    if (mark.tools.length <= maxTools && mark.tools.every(isName)) return mark.tools as readonly string[]
  }
  return readApproval(question)?.tools.map(({ id }) => id)
}

/** The decisions in a message, or the reasons why they do not answer the question. */
export type ApprovalAnswer = { readonly decisions: Decisions } | { readonly violations: readonly FieldViolation[] }

/** Reads the answer in the metadata of a message. Undefined if there is none: the message may answer the form. */
export function readResponse(ids: readonly string[], { metadata }: Message): ApprovalAnswer | undefined {
  const response = metadata?.[uri]
  if (!isStruct(response) || response.type !== 'tool_approval_response') return undefined
  const field = `message.metadata["${uri}"].approvals`
  const given = response.approvals
  if (!Array.isArray(given)) return { violations: [{ field, description: 'must be a list' }] }
  const violations: FieldViolation[] = []
  const decisions = new Map<string, Decision>()
  // A valid list has one entry per id; a longer one is refused without reading the rest.
  for (const [place, each] of (given as readonly JsonValue[]).slice(0, ids.length + 1).entries()) {
    const at = `${field}[${place}]`
    const { id, approved, rejection_reason: reason } = isStruct(each) ? each : {}
    if (typeof id !== 'string' || !ids.includes(id)) violations.push({ field: `${at}.id`, description: 'is unknown' })
    else if (decisions.has(id)) violations.push({ field: `${at}.id`, description: 'is decided twice' })
    else if (typeof approved !== 'boolean')
      violations.push({ field: `${at}.approved`, description: 'must be a boolean' })
    else if (reason !== undefined && reason !== null && !(typeof reason === 'string' && reason.length <= maxReason))
      violations.push({
        field: `${at}.rejection_reason`,
        description: `must be text of at most ${maxReason} characters`,
      })
    else decisions.set(id, decision(approved, reason))
  }
  const missing = ids.filter((id) => !decisions.has(id))
  if (violations.length === 0 && missing.length > 0)
    violations.push({ field, description: `must decide ${missing.map((id) => clip(id)).join(', ')}` })
  if (violations.length > 0) return { violations }
  // In the order of the question: a handler may pass decisions on by position.
  return { decisions: new Map(ids.flatMap((id) => entryOf(id, decisions.get(id)))) }
}

function entryOf(id: string, found: Decision | undefined): readonly (readonly [string, Decision])[] {
  return found ? [[id, found]] : []
}

/** Reads the answer in the data of a form, which has been checked against its schema. */
export function decisionsInForm(ids: readonly string[], data: JsonValue | undefined): Decisions {
  const values = isStruct(data) ? data : {}
  const decisions = new Map<string, Decision>()
  for (const [place, id] of ids.entries()) {
    const [approved, reason] = fieldsOf(place, ids.length)
    decisions.set(id, decision(values[approved] === true, values[reason]))
  }
  return decisions
}

/** Chat clients can only send text: a word that decides all tool calls. Undefined for other text. */
export function decisionsInText(ids: readonly string[], message: Message): Decisions | undefined {
  const word = textOf(message).trim().toLowerCase()
  const approved = ['yes', 'approve', 'approved'].includes(word)
  if (!approved && !['no', 'reject', 'rejected'].includes(word)) return undefined
  return new Map(ids.map((id) => [id, { approved }]))
}

function decision(approved: boolean, reason: JsonValue | undefined): Decision {
  return typeof reason === 'string' && reason !== '' ? { approved, reason } : { approved }
}

/**
 * Returns the content of a message that answers an approval. Throws a `TypeError` unless every tool call is decided.
 *
 * ```ts
 * await client.ask(answerApproval(approval, new Map([['call-1', { approved: true }]])), { taskId })
 * ```
 */
export function answerApproval(
  { tools }: Approval,
  decisions: Decisions,
): { readonly parts: readonly Part[]; readonly metadata: Struct; readonly extensions: readonly string[] } {
  for (const id of decisions.keys())
    if (!tools.some((tool) => tool.id === id)) throw new TypeError(`No tool call has the id ${clip(id)}`)
  const lines: string[] = []
  const decided = tools.map(({ id, name }) => {
    const { approved, reason } = decisions.get(id) ?? {}
    if (typeof approved !== 'boolean') throw new TypeError(`The tool call ${clip(id)} is not decided`)
    lines.push(`${approved ? 'Approved' : 'Rejected'}: ${name}${reason ? ` (${reason})` : ''}`)
    return { id, approved, ...(reason && { rejection_reason: reason }) }
  })
  return {
    parts: [{ text: lines.join('\n') }],
    metadata: { [uri]: { type: 'tool_approval_response', approvals: decided } },
    extensions: [uri],
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= maxName
}
