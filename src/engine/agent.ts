/** An agent: a card, and a function from a turn to what it yields. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentCapabilities, AgentCard, AgentExtension, AgentProvider, AgentSkill } from '../model/agent-card.js'
import type { Message } from '../model/message.js'
import { assertOptions, either, type NamesOf } from '../model/option-names.js'
import type { JsonValue, Struct } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { Content, Yield } from './yields.js'

/** A skill; what is left out gets an honest default. Schemas are checked and published as JSON Schema. */
export interface SkillInit extends Partial<Omit<AgentSkill, 'id'>> {
  readonly id: string
  /** The schema of data parts in messages that begin a task: each part must fit the schema of some skill. */
  readonly input?: StandardSchemaV1
  /** What data parts of artifacts must look like. */
  readonly output?: StandardSchemaV1
}

/** The card of an agent, as its author writes it. Only `name` is required; the server completes the rest. */
export interface AgentInit<Skills extends readonly SkillInit[] = readonly SkillInit[]>
  extends Partial<
    Pick<
      AgentCard,
      | 'description'
      | 'version'
      | 'provider'
      | 'documentationUrl'
      | 'iconUrl'
      | 'defaultInputModes'
      | 'defaultOutputModes'
    >
  > {
  readonly name: string
  readonly skills?: Skills
  readonly capabilities?: Pick<
    AgentCapabilities,
    'streaming' | 'pushNotifications' | 'stateTransitionHistory' | 'extensions' | 'extendedAgentCard'
  >
  /** The card for callers that have proved who they are; declare `extendedAgentCard` with it. */
  readonly extendedCard?: (card: AgentCard, caller: Caller) => AgentCard | Promise<AgentCard>
  /**
   * What to do with a turn whose process died: `fail` the task (default), or run the turn again, up
   * to `attempts` times in all. Only for handlers that do no harm when they run twice.
   */
  readonly onCrash?: 'fail' | { readonly attempts: number }
}

const skillNames = {
  id: true,
  name: true,
  description: true,
  tags: 'strings',
  examples: 'strings',
  inputModes: 'strings',
  outputModes: 'strings',
  securityRequirements: true,
  input: true,
  output: true,
} satisfies NamesOf<SkillInit>

const extensionNames = { uri: true, description: true, required: true, params: true } satisfies NamesOf<AgentExtension>

const cardNames = {
  name: true,
  description: true,
  version: true,
  provider: { organization: true, url: true } satisfies NamesOf<AgentProvider>,
  documentationUrl: true,
  iconUrl: true,
  defaultInputModes: true,
  defaultOutputModes: true,
  skills: [skillNames],
  capabilities: {
    streaming: 'boolean',
    pushNotifications: 'boolean',
    stateTransitionHistory: 'boolean',
    extensions: [extensionNames],
    extendedAgentCard: 'boolean',
  } satisfies NamesOf<AgentCapabilities>,
  extendedCard: 'function',
  onCrash: either(['fail'], { attempts: true }),
} satisfies NamesOf<AgentInit>

/** What the data parts of messages to these skills hold: the union of their schemas' outputs. */
export type InputOf<Skills extends readonly SkillInit[]> = Skills extends readonly []
  ? JsonValue | undefined
  : {
      [K in keyof Skills]: Skills[K] extends { input: infer S extends StandardSchemaV1 }
        ? StandardSchemaV1.InferOutput<S>
        : JsonValue | undefined
    }[number]

/** The answer of an agent that was called. */
export interface CallResult {
  /** The text of the answer: of the artifacts, else of the message. */
  readonly text: string
  readonly task?: Task
  readonly message?: Message
}

/** Options of `turn.call`. */
export interface CallAgentOptions {
  /** A task of that agent to go on with: the content answers its question. Default: a new task. */
  readonly taskId?: string
}

/** One message, and what is needed to work on it. */
export interface Turn<Input = JsonValue | undefined> {
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /**
   * The first data part of the message. Of the message that begins a task it was checked against the
   * skills' schemas; the answer to a question with a form was checked against the form's schema. Any other answer is
   * as the caller sent it.
   */
  data(): Input
  /** The task as it stood when the turn began. */
  readonly task: Task
  /** The conversation so far, this message included, oldest first. */
  readonly history: readonly Message[]
  readonly contextId: string
  /** Who sent the message, the owner of the task or somebody it is shared with: id, scheme and scopes. */
  readonly caller: Caller
  /**
   * What `askAuth` asked for, once it has arrived: the turn that asked then runs again, from its beginning. It is
   * for this turn alone and is never stored; a turn that is repeated after a crash has none and asks again.
   */
  readonly credential: Credential | undefined
  /** Fires when the task is cancelled or the process shuts down. */
  readonly signal: AbortSignal
  /** 1 for the message that began the task, 2 for the next one. */
  readonly number: number
  /** 1, or more when the process died during an earlier attempt. */
  readonly attempt: number
  /** Metadata of the request. */
  readonly metadata: Struct
  /** Media types the caller would like. */
  readonly acceptedOutputModes: readonly string[]
  /** Extensions the caller asked for. */
  readonly extensions: readonly string[]
  /** W3C trace context of this turn: what is done for it elsewhere belongs to the same trace. */
  readonly traceparent: string | undefined
  /** What the systems on its way have noted beside it. */
  readonly tracestate: string | undefined
  /** Asks another agent, in the same context; cancelling this task cancels that one. */
  call(agent: AgentRef, content: Content, options?: CallAgentOptions): Promise<CallResult>
  /** The operations of another agent, called for the caller of this one; absent when none of that name can be reached. */
  service(agent: AgentRef): AgentService | undefined
  /**
   * Writes something down for later attempts and later turns of this task. Committed when it resolves; nobody
   * is ever sent it. The same key again replaces the value. At most 1 MB of JSON each, 16 MB and 10,000 keys a task;
   * what is `fromReserve` may take a quarter more, and as many keys again, so that whoever has used up the room can
   * still undo what was done.
   */
  checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void>
  /** What was written down so far, by key. */
  readonly checkpoints: ReadonlyMap<string, JsonValue>
}

/** Options of `turn.checkpoint`. */
export interface CheckpointOptions {
  /** Whether it may take the room that is kept for the end. Default false. */
  readonly fromReserve?: boolean
}

/** A credential that an agent can use: a token, or an object with several. */
export type Credential = string | { readonly [name: string]: unknown }

/** An agent of the same server, or the name of an agent. */
export type AgentRef = string | Agent

/** The function that an author writes: an async generator that handles one turn. `return value` yields it last. */
// biome-ignore lint/suspicious/noConfusingVoidType: a generator without a return value has the type void.
export type Handler<Input = JsonValue | undefined> = (turn: Turn<Input>) => AsyncIterable<Yield, Yield | void>

/** An agent that can be served: its card and its handler. Made by `agent`. */
export interface Agent {
  readonly card: AgentInit
  readonly handler: Handler<never>
  /**
   * Called when a task has been cancelled, whether its handler ran or not, or given up after a crash. What was
   * begun elsewhere for its sake can be ended there too. Nobody waits for it for long.
   */
  readonly onAbandoned?: (task: AbandonedTask) => Promise<void>
  /** Its work is done by other agents; traces call it so. */
  readonly isWorkflow?: boolean
  /**
   * Whether the engine refuses parts whose media type is missing from the card's input modes (R-ERR-8). Default true;
   * false where another agent decides.
   */
  readonly enforcesInputModes?: boolean
  /** Called when the engine has drained: connections that handlers share can be closed. */
  readonly onDrained?: () => Promise<void>
}

/** A task that was ended from outside its handler. */
export type AbandonedTask = Pick<Turn, 'task' | 'caller' | 'checkpoints' | 'service'>

/**
 * Makes an agent.
 *
 * ```ts
 * const shout = agent('Shout', async function* ({ text }) {
 *   yield text.toUpperCase()
 * })
 * ```
 */
export function agent<const Skills extends readonly SkillInit[] = readonly []>(
  card: string | AgentInit<Skills>,
  handler: Handler<InputOf<Skills>>,
): Agent {
  const init = initOf(card, "An agent needs a name and a handler: agent('Shout', async function* (turn) { … })")
  const kind: unknown = typeof handler === 'function' && Reflect.get(handler, Symbol.toStringTag)
  if (typeof handler !== 'function' || kind === 'AsyncFunction' || kind === 'GeneratorFunction')
    throw new TypeError(notAGenerator(init.name))
  return { card: init, handler }
}

/** The card of an agent that is made. Throws a `TypeError` with this text if it has no name. */
export function initOf(card: string | AgentInit, needsName: string): AgentInit {
  const init: AgentInit = typeof card === 'string' ? { name: card } : card
  if (typeof init !== 'object' || init === null) throw new TypeError(needsName)
  assertOptions('agent', init, cardNames)
  if (typeof init.name !== 'string' || init.name.trim() === '') throw new TypeError(needsName)
  for (const [place, skill] of (init.skills ?? []).entries())
    if (typeof skill?.id !== 'string') throw new TypeError(`agent.skills[${place}] needs an id: { id: 'shout' }`)
  return init
}

/** The message for a handler that is not an async generator. */
export function notAGenerator(name: string): string {
  return `The handler of ${name} must be an async generator: write agent('${name}', async function* (turn) { yield '…' })`
}

/** Whether a value is what `agent()` makes. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && 'card' in value && 'handler' in value
}
