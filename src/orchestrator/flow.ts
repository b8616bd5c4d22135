/** The types of a workflow function: its durable steps, and the message that started the run. */
import type { Agent } from '../engine/agent.js'
import type { ArtifactOptions, AskOptions, Content } from '../engine/yields.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Message } from '../model/message.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { StepResult } from './step-result.js'

/**
 * The agent of a step: the name of an agent that is served with the workflow or found by its `resolve`, a URL, a card, an
 * agent, a service, or any agent with a skill.
 */
export type StepAgent = string | Agent | AgentCard | AgentService | { readonly skill: string }

/** The message of a step: text, parts, and results of earlier steps, whose parts are copied. */
export type StepMessage = string | Part | StepResult | readonly (string | Part | StepResult)[]

/** A step that an agent does. */
export interface Step {
  readonly agent: StepAgent
  /** Results in the message are dependencies of the step; the request references their tasks. */
  readonly message: StepMessage
  /** Further dependencies, whose content is not sent. */
  readonly after?: readonly StepResult[]
  /** Metadata of the request. */
  readonly metadata?: Struct
  /**
   * `attempts`: how often each agent is called in total; default 1. `delayMs`: the first delay, which doubles with each retry;
   * default 200 ms. Rejected requests are not retried.
   */
  readonly retry?: { readonly attempts: number; readonly delayMs?: number }
  /** Time limit of one attempt, without the time that its questions wait for an answer. Default: none. */
  readonly timeoutMs?: number
  /** Agents to try, in order, if the first one fails or cannot be reached. */
  readonly fallback?: StepAgent | readonly StepAgent[]
  /** Time for which an attempt retries an agent that cannot be reached. Default 30 s. */
  readonly retryBudgetMs?: number
  /** Returns the step that undoes this one if the run later fails or is cancelled. Called when this step is completed. */
  readonly compensate?: (result: StepResult) => Compensation
}

/** A step that undoes another one. It is stored, so its agent must have a name, a URL or a skill. */
export interface Compensation {
  readonly agent: string | Agent | { readonly skill: string }
  readonly message: StepMessage
}

/** The answer to a question of the workflow. */
export interface WorkflowAnswer {
  readonly text: string
  /** The first data part; with a schema, the answer that fits it. */
  readonly data: JsonValue | undefined
  readonly parts: readonly Part[]
}

/** Durable steps. Names must be unique within a run. */
export interface Steps {
  /**
   * Has an agent do a step, once: after a crash, the run continues after the last completed step, and finds the task of an
   * open step again. Throws `StepError` if all attempts fail.
   */
  step(name: string, step: Step): Promise<StepResult>
  /** Does a step for each item, up to `concurrency` (default 8) at a time. The steps are named `name[1]`, `name[2]` … */
  each<Item>(
    name: string,
    items: readonly Item[],
    step: (item: Item, index: number) => Step,
    options?: { readonly concurrency?: number },
  ): Promise<readonly StepResult[]>
  /**
   * Calls `round` up to `max` times, until it returns a value; returns that value, or `undefined`. Steps of a round are named
   * `name[1]/…`.
   */
  loop<Result>(
    name: string,
    max: number,
    round: (steps: Steps, number: number) => Promise<Result | undefined>,
  ): Promise<Result | undefined>
  /** Asks the caller of the run and waits for the answer, also across restarts. */
  ask(name: string, question: Content, options?: AskOptions): Promise<WorkflowAnswer>
  /** Runs code once and stores its result: for the time, random values or calls to other systems. */
  once<Value extends JsonValue>(name: string, work: () => Value | Promise<Value>): Promise<Value>
}

/** The argument of a workflow function: the request, durable steps and output. */
export interface Flow<Input = JsonValue | undefined> extends Steps {
  /** The text of the message that started the run. */
  readonly text: string
  readonly message: Message
  /** The first data part of that message, validated by the schemas of the skills. */
  data(): Input
  readonly contextId: string
  /** The id of the run's own task. */
  readonly taskId: string
  readonly caller: Caller
  /** Aborted when the run is cancelled or the process shuts down. */
  readonly signal: AbortSignal
  /** Adds an artifact to the run's task; the same name replaces it. */
  artifact(name: string, content: Content, options?: Omit<ArtifactOptions, 'id' | 'append' | 'lastChunk'>): void
  /** Sends a progress message to followers of the run. */
  progress(content: Content): void
}
