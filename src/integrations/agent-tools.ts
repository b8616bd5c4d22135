/**
 * An agent as tools for language models: descriptions made from its card, and calls whose results a model can read. The
 * frameworks only wrap these tools.
 */
import type { AgentClient } from '../client/agent-client.js'
import { readTurn, type TurnEvent } from '../client/read-turn.js'
import type { AgentCard, AgentSkill } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import type { Message } from '../model/message.js'
import type { JsonValue, Struct } from '../model/part.js'
import type { SendMessageRequest } from '../model/service.js'
import { sizeOf } from '../model/size-of.js'
import { inputSchemaOf } from '../model/skill-schemas.js'
import type { TaskState } from '../model/task.js'
import { followTurn } from './follow-turn.js'

/** A tool that calls an agent. */
export interface AgentTool {
  /** At most 64 characters of `A-Z a-z 0-9 _ -`. */
  readonly name: string
  readonly description: string
  readonly schema: ObjectSchema
  /**
   * Calls the agent. Yields the text so far while it grows, then the result as the last element. Throws if the task fails,
   * or is rejected or cancelled. An aborted signal cancels the task.
   */
  call(input: Struct, options?: { readonly signal?: AbortSignal | undefined }): AsyncGenerator<ToolResult, void, void>
}

/** A JSON Schema of objects: the arguments of a tool. */
export type ObjectSchema = Struct & { readonly type: 'object' }

/** The result of a call: text, text with data and links, or a question. */
export type ToolResult = string | ToolOutput | ToolQuestion

/** The output of an agent that sent more than text. */
export interface ToolOutput {
  readonly text: string
  readonly data?: readonly JsonValue[]
  /** Links to files, and the names of files that the agent sent inline: their bytes are of no use to the model. */
  readonly files?: readonly Struct[]
}

/** A question of the agent. The next call of the message tool answers it, if it has the `taskId`. */
export interface ToolQuestion {
  readonly state: 'input-required' | 'auth-required'
  readonly question: string
  /** The JSON Schema of the answer, if it must be JSON. */
  readonly schema?: Struct
  readonly taskId: string
}

const maxNameLength = 64
/** Cards come from peers, and models read all descriptions. */
const maxSkills = 100
const maxDescription = 4000
/** Models cannot read more, and the output comes from a peer. */
const maxOutput = 1_000_000

/** Returns a tool for each skill that publishes a schema, and one that takes a message and answers questions. */
export function toolsOf(client: AgentClient): readonly AgentTool[] {
  const { card } = client
  const names = new Set<string>()
  const skills = card.skills.slice(0, maxSkills).flatMap((skill): AgentTool[] => {
    const schema = inputSchemaOf(card, skill.id)
    if (!isObjectSchema(schema)) return []
    return [
      {
        name: toolName(`${card.name}_${skill.id}`, names),
        description: skill.description.slice(0, maxDescription),
        schema,
        call: (input, { signal } = {}) =>
          resultsOf(sendTurn(client, { message: skillMessage(skill, input) }, { signal })),
      },
    ]
  })
  return [
    ...skills,
    {
      name: toolName(card.name, names),
      description: agentDescription(card),
      schema: messageSchema,
      call: (input, { signal } = {}) => resultsOf(sendTurn(client, { message: textMessage(input) }, { signal })),
    },
  ]
}

const messageSchema: ObjectSchema = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'The message for the agent, in natural language' },
    taskId: { type: 'string', description: 'Only to answer a question of the agent: the taskId that came with it' },
  },
  required: ['message'],
  additionalProperties: false,
}

function isObjectSchema(schema: Struct | undefined): schema is ObjectSchema {
  return schema?.type === 'object'
}

function skillMessage({ id }: AgentSkill, input: Struct): Message {
  return { ...newMessage([{ data: input, mediaType: 'application/json' }]), metadata: { skillId: id } }
}

function textMessage({ message, taskId }: Struct): Message {
  const sent = newMessage([{ text: typeof message === 'string' ? message : JSON.stringify(message ?? '') }])
  return typeof taskId === 'string' && taskId !== '' ? { ...sent, taskId } : sent
}

function newMessage(parts: Message['parts']): Message {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts }
}

/** Describes an agent and its skills to a model. */
export function agentDescription(card: AgentCard): string {
  const skills = card.skills
    .slice(0, maxSkills)
    .filter(({ description }) => description !== card.description)
    .map(({ name, description }) => `- ${name}: ${description}`)
  return [card.description, ...skills].join('\n').slice(0, maxDescription)
}

/** Returns a name that models accept and that is not in `taken`, and adds it. */
export function toolName(wanted: string, taken: Set<string>): string {
  const words = wanted
    .slice(0, 4 * maxNameLength)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^A-Za-z0-9-]+/)
  const base = words.filter(Boolean).join('_').slice(0, maxNameLength) || 'agent'
  let name = base
  for (let number = 2; taken.has(name); number += 1) {
    const suffix = `_${number}`
    name = base.slice(0, maxNameLength - suffix.length) + suffix
  }
  taken.add(name)
  return name
}

/** Options of `sendTurn`. */
interface SendTurnOptions {
  readonly signal?: AbortSignal | undefined
  /** Default: a new key, so that the client can retry. */
  readonly idempotencyKey?: string
  readonly extensions?: readonly string[]
}

/** Sends a message and yields the events of its turn. An aborted signal cancels the task; the generator then throws. */
export async function* sendTurn(
  client: AgentClient,
  request: SendMessageRequest,
  { signal, idempotencyKey = crypto.randomUUID(), extensions }: SendTurnOptions = {},
): AsyncGenerator<TurnEvent, void, void> {
  // The request is not sent if the signal has aborted before.
  signal?.throwIfAborted()
  const stream = client.sendStreamingMessage(request, { idempotencyKey, ...(extensions && { extensions }) })
  const { taskId } = request.message
  yield* followTurn(client, readTurn(stream, { continues: taskId !== undefined }), { taskId, signal })
}

/** The output of a turn so far. */
export class TurnOutput {
  readonly #texts = new Map<string, string>()
  readonly #data = new Map<string, JsonValue>()
  #files: Struct[] = []
  #size = 0

  /** Adds an event. Throws PAYLOAD_TOO_LARGE if the output exceeds a million characters. */
  add(event: TurnEvent): void {
    if (event.kind === 'text') {
      this.#texts.set(event.id, (this.#texts.get(event.id) ?? '') + event.text)
      this.#count(event.text)
    } else if (event.kind === 'data') {
      this.#data.set(`${event.id}/${event.index}`, event.value)
      this.#count(event.value)
    } else if (event.kind === 'file') {
      const { filename, mediaType } = event.part
      const facts = { ...(filename !== undefined && { filename }), ...(mediaType !== undefined && { mediaType }) }
      const link: Struct = 'url' in event.part ? { ...facts, url: event.part.url } : facts
      this.#files.push(link)
      this.#count(link)
    } else if (event.kind === 'reset') {
      this.#texts.clear()
      this.#data.clear()
      this.#files = []
      this.#size = 0
    }
  }

  /** The texts of all artifacts, each on lines of its own. */
  get text(): string {
    return [...this.#texts.values()].join('\n')
  }

  /** The values of all data parts. */
  get data(): readonly JsonValue[] {
    return [...this.#data.values()]
  }

  /** The output; `final` is the text of the last message. */
  result(final: string): string | ToolOutput {
    const text = [this.text, final].filter(Boolean).join('\n')
    if (this.#data.size === 0 && this.#files.length === 0) return text
    return {
      text,
      ...(this.#data.size > 0 && { data: this.data }),
      ...(this.#files.length > 0 && { files: this.#files }),
    }
  }

  #count(value: JsonValue): void {
    this.#size += typeof value === 'string' ? value.length : sizeOf(value, maxOutput)
    if (this.#size > maxOutput)
      throw new A2AError('PAYLOAD_TOO_LARGE', `The output of the agent exceeds ${maxOutput} characters`)
  }
}

async function* resultsOf(events: AsyncIterable<TurnEvent>): AsyncGenerator<ToolResult, void, void> {
  const output = new TurnOutput()
  let taskId = ''
  for await (const event of events) {
    output.add(event)
    if (event.kind === 'begin') taskId = event.taskId ?? ''
    else if (event.kind === 'text') yield output.text
    else if (event.kind === 'question') {
      const { text, schema } = event
      yield { state: 'input-required', question: text, ...(schema && { schema }), taskId }
    } else if (event.kind === 'auth') yield { state: 'auth-required', question: event.text, taskId }
    else if (event.kind === 'end') {
      if (event.state !== 'TASK_STATE_COMPLETED') throw new Error(endText(event))
      yield output.result(event.text)
    }
  }
}

/** Runs a tool to its end and returns the result as text, for models that read nothing else. */
export async function callTool(tool: AgentTool, input: Struct, signal: AbortSignal | undefined): Promise<string> {
  let result: ToolResult = ''
  for await (const each of tool.call(input, { signal })) result = each
  return typeof result === 'string' ? result : JSON.stringify(result)
}

const endTexts: Partial<Record<TaskState, string>> = {
  TASK_STATE_FAILED: 'The agent failed',
  TASK_STATE_REJECTED: 'The agent rejected the task',
  TASK_STATE_CANCELED: 'The task was cancelled',
}

/** The reason why a task did not complete. */
export function endText({ state, text }: Extract<TurnEvent, { kind: 'end' }>): string {
  return [endTexts[state] ?? `The task ended as ${state}`, text].filter(Boolean).join(': ')
}
