/** Defines agents: a card, and an async generator that handles the turns of a task. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentCapabilities, AgentCard, AgentExtension, AgentProvider, AgentSkill } from '../model/agent-card.js'
import type { Decisions } from '../model/approvals.js'
import { assertUri, type DeclaredExtension } from '../model/extension.js'
import { isObject } from '../model/is-object.js'
import type { Message } from '../model/message.js'
import { assertOptions, either, type NamesOf } from '../model/option-names.js'
import type { JsonValue, Struct } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { Usage } from '../model/usage.js'
import type { Content, Yield } from './yields.js'

/** A skill of an agent. Only the id is required. Schemas are checked and published as JSON Schema. */
export interface SkillInit extends Partial<Omit<AgentSkill, 'id'>> {
  readonly id: string
  /** The schema of data parts in messages that begin a task: each part must fit the schema of some skill. */
  readonly input?: StandardSchemaV1
  /** The schema of data parts in artifacts. */
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
    'streaming' | 'pushNotifications' | 'stateTransitionHistory' | 'extendedAgentCard'
  >
  /** Extensions that the card declares. The agent writes values of those that the caller asks for, see `turn.has`. */
  readonly extensions?: readonly DeclaredExtension[]
  /** Returns the card for authenticated callers. Requires the capability `extendedAgentCard`. */
  readonly extendedCard?: (card: AgentCard, caller: Caller) => AgentCard | Promise<AgentCard>
  /**
   * The treatment of a turn whose process died: `fail` ends the task (default), `attempts` runs the turn again, up to this
   * many times in total. Use it only for handlers that can safely run twice.
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
    extendedAgentCard: 'boolean',
  } satisfies NamesOf<NonNullable<AgentInit['capabilities']>>,
  // Results of `extension` have the member `read`.
  extensions: either([extensionNames, 'read']),
  extendedCard: 'function',
  onCrash: either(['fail'], { attempts: true }),
} satisfies NamesOf<AgentInit>

/** The type of `turn.data()`: the union of the outputs of the skills' input schemas. */
export type InputOf<Skills extends readonly SkillInit[]> = Skills extends readonly []
  ? JsonValue | undefined
  : {
      [K in keyof Skills]: Skills[K] extends { input: infer S extends StandardSchemaV1 }
        ? StandardSchemaV1.InferOutput<S>
        : JsonValue | undefined
    }[number]

/** The result of `turn.call`. */
export interface CallResult {
  /** The text of the artifacts, or of the message if there are none. */
  readonly text: string
  readonly task?: Task
  readonly message?: Message
}

/** Options of `turn.call`. */
export interface CallAgentOptions {
  /** A task of the called agent that the message continues. Default: a new task. */
  readonly taskId?: string
}

/** Identifies the tasks that belong together: those of one agent, tenant and owner. */
export interface TaskScope {
  readonly agent: string
  /** Empty if the agent has no tenants. */
  readonly tenant: string
  /** The id of the caller that created the task. */
  readonly owner: string
}

/** One message and its task: the argument of a handler. */
export interface Turn<Input = JsonValue | undefined> {
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /**
   * Returns the first data part of the message. In the first message of a task it fits the schema of a skill; in the answer
   * to a question with a form it fits the form. Otherwise it is unchecked.
   */
  data(): Input
  /** The task at the start of the turn. */
  readonly task: Task
  /** The conversation so far, this message included, oldest first. */
  readonly history: readonly Message[]
  readonly contextId: string
  /**
   * The agent, tenant and owner of the task. Callers choose their contextIds, so that memory kept elsewhere must be stored
   * under the scope and the contextId.
   */
  readonly scope: TaskScope
  /** The sender of the message: the owner of the task, or a caller it is shared with. */
  readonly caller: Caller
  /**
   * The credential that `askAuth` asked for. When it arrives, the turn that asked runs again from its beginning. Only that
   * turn sees it, and it is never stored: a turn that is repeated after a crash must ask again.
   */
  readonly credential: Credential | undefined
  /** Aborts when the task is cancelled or the process shuts down. */
  readonly signal: AbortSignal
  /** The number of the turn in its task, from 1. */
  readonly number: number
  /** The number of the attempt: more than 1 if the process died during an earlier one. */
  readonly attempt: number
  /** Metadata of the request. */
  readonly metadata: Struct
  /** Media types that the caller accepts. */
  readonly acceptedOutputModes: readonly string[]
  /** URIs of the active extensions: the agent declares them, and the caller asked for them. */
  readonly extensions: readonly string[]
  /** Whether an extension is active: the agent declares it, and the caller asked for it. */
  has(extension: string | { readonly uri: string }): boolean
  /** Counts tokens and cost for callers that asked for the extension `usage`. */
  readonly usage: UsageMeter
  /** The decisions that this message brings, by the id of the tool call. Undefined unless it answers `approve`. */
  readonly approvals: Decisions | undefined
  /** The W3C trace context of this turn, for calls to other systems. */
  readonly traceparent: string | undefined
  /** The `tracestate` that belongs to it. */
  readonly tracestate: string | undefined
  /** Sends a message to another agent and waits for the result. Cancelling this task cancels the other one. */
  call(agent: AgentRef, content: Content, options?: CallAgentOptions): Promise<CallResult>
  /**
   * Returns the other tasks of this context that belong to the owner of this task, the oldest first, with artifacts and
   * history: the earlier conversation of the owner with this agent. With a limit, the newest ones; together they have at most 8 MB.
   */
  earlier(options?: EarlierOptions): Promise<readonly Task[]>
  /** The operations of another agent, called for the owner of this task; undefined if there is no such agent. */
  service(agent: AgentRef): AgentService | undefined
  /**
   * Stores a value for later attempts and turns of this task. It is committed when the promise resolves, and never sent to
   * callers. The same key replaces the value. Keys that begin with `urn:dragoman:` belong to extensions. Limits: 1 MB of
   * JSON per value, 16 MB and 10,000 keys per task; with `fromReserve` 20 MB and 20,000 keys.
   */
  checkpoint(key: string, value: JsonValue, options?: CheckpointOptions): Promise<void>
  /** The checkpoints of this task, by key. */
  readonly checkpoints: ReadonlyMap<string, JsonValue>
}

/** The tokens and the cost of a task. */
export interface UsageMeter {
  /**
   * Adds to the running total of the task. It is committed with the next yield, and sent with the next status update, at the
   * latest with the end of the turn. A turn that is repeated after a crash continues from the committed total. Without
   * effect if the extension `usage` is not active. Throws for numbers that are not integers, and for another currency.
   */
  add(usage: Usage): void
  /** The running total of the task. Empty if the extension `usage` is not active. */
  readonly total: Usage
}

/** Options of `turn.earlier`. */
export interface EarlierOptions {
  /** The maximum number of tasks, from 1 to 100. Default 20. */
  readonly limit?: number
}

/** Options of `turn.checkpoint`. */
export interface CheckpointOptions {
  /** Whether the checkpoint may use the reserve, for example to undo work when the limits are reached. Default false. */
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
   * Called when a task was cancelled or given up after a crash, also if its handler did not run. Use it to end work in other
   * systems. The engine waits for it only for the grace period.
   */
  readonly onAbandoned?: (task: AbandonedTask) => Promise<void>
  /** Whether the agent is a workflow of other agents, for traces. */
  readonly isWorkflow?: boolean
  /** Whether the engine refuses parts whose media type is not in the card's input modes (R-ERR-8). Default true. */
  readonly enforcesInputModes?: boolean
  /** Called when the engine has drained. Use it to close connections that handlers share. */
  readonly onDrained?: () => Promise<void>
}

/** A task that was ended from outside its handler. */
export type AbandonedTask = Pick<Turn, 'task' | 'caller' | 'checkpoints' | 'service'>

/**
 * Creates an agent. Throws a `TypeError` for a card without a name or a handler that is not an async generator.
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

/** The card of a new agent. Throws a `TypeError` with the text `needsName` if it has no name. */
export function initOf(card: string | AgentInit, needsName: string): AgentInit {
  const init: AgentInit = typeof card === 'string' ? { name: card } : card
  if (typeof init !== 'object' || init === null) throw new TypeError(needsName)
  if (isObject(init.capabilities) && 'extensions' in init.capabilities)
    throw new TypeError('`capabilities.extensions` is now `extensions`: agent({ name, extensions: [{ uri }] }, …)')
  assertOptions('agent', init, cardNames)
  if (typeof init.name !== 'string' || init.name.trim() === '') throw new TypeError(needsName)
  for (const [place, skill] of (init.skills ?? []).entries())
    if (typeof skill?.id !== 'string') throw new TypeError(`agent.skills[${place}] needs an id: { id: 'shout' }`)
  const uris = new Set<string>()
  for (const { uri } of init.extensions ?? []) {
    assertUri(uri)
    if (uris.has(uri)) throw new TypeError(`agent.extensions declares ${uri} twice`)
    uris.add(uri)
  }
  return init
}

/** The message for a handler that is not an async generator. */
export function notAGenerator(name: string): string {
  return `The handler of ${name} must be an async generator: write agent('${name}', async function* (turn) { yield '…' })`
}

/** Whether a value is an agent. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && 'card' in value && 'handler' in value
}
