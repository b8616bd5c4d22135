/** What the function of a workflow is given: durable steps, and the message that began the run. */
import type { Agent } from '../engine/agent.js'
import type { ArtifactOptions, AskOptions, Content } from '../engine/yields.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Message } from '../model/message.js'
import type { JsonValue, Part, Struct } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { StepResult } from './step-result.js'

/**
 * Who does a step: the name of an agent that is served beside the workflow or that its `resolve` knows, an
 * address, a card, an agent or its service, or whoever has a skill.
 */
export type StepAgent = string | Agent | AgentCard | AgentService | { readonly skill: string }

/** What a step says: text, parts, and results of earlier steps, whose parts travel as they are. */
export type StepMessage = string | Part | StepResult | readonly (string | Part | StepResult)[]

export interface Step {
  readonly agent: StepAgent
  /** Results in it are what the step builds on: the agent is told their tasks. */
  readonly message: StepMessage
  /** Further results the step builds on, without their content. */
  readonly after?: readonly StepResult[]
  /** Metadata of the request. */
  readonly metadata?: Struct
  /** How often each agent is asked in all; default once. Waits 200 ms (`delayMs`), then twice as long each time. A refusal is not asked again. */
  readonly retry?: { readonly attempts: number; readonly delayMs?: number }
  /** For one attempt, without the time that somebody thinks about its questions. Default: none. */
  readonly timeoutMs?: number
  /** Agents to ask, in order, when the first one has failed or cannot be reached. */
  readonly fallback?: StepAgent | readonly StepAgent[]
  /** How long an agent that has the task may be out of reach before it counts as dead. Default 30 s. */
  readonly retryBudgetMs?: number
  /** What undoes this step, when it was done and the run fails or is cancelled later. Asked for as soon as it is done. */
  readonly compensate?: (result: StepResult) => Compensation
}

/** Written down with the step, so its agent has to have a name, an address or a skill. */
export interface Compensation {
  readonly agent: string | Agent | { readonly skill: string }
  readonly message: StepMessage
}

/** What somebody answered to a question of the workflow. */
export interface WorkflowAnswer {
  readonly text: string
  /** The first data part: the form, where the question had a schema. */
  readonly data: JsonValue | undefined
  readonly parts: readonly Part[]
}

/** Steps, with names that are unique where they are used. */
export interface Steps {
  /**
   * Has an agent do something. Done once: when the process dies, the run goes on behind the last step that was
   * done, and a step that was under way is found again at its agent. Throws `StepError` when nobody could do it.
   */
  step(name: string, step: Step): Promise<StepResult>
  /** A step for each item, some at a time (default 8); they are called `name[1]`, `name[2]` … */
  each<Item>(
    name: string,
    items: readonly Item[],
    step: (item: Item, place: number) => Step,
    options?: { readonly concurrency?: number },
  ): Promise<readonly StepResult[]>
  /**
   * Rounds, at most so many, until one returns something; what it returned, or `undefined`. Steps of a round are
   * called `name[1]/…`.
   */
  loop<Result>(
    name: string,
    most: number,
    round: (steps: Steps, number: number) => Promise<Result | undefined>,
  ): Promise<Result | undefined>
  /** Asks whoever started the run, and waits for the answer, over restarts too. */
  ask(name: string, question: Content, options?: AskOptions): Promise<WorkflowAnswer>
  /** Something that must not be done or decided twice: the time, a random choice, a call of another kind. */
  once<Value extends JsonValue>(name: string, work: () => Value | Promise<Value>): Promise<Value>
}

export interface Flow<Input = JsonValue | undefined> extends Steps {
  /** The text of the message that began the run. */
  readonly text: string
  readonly message: Message
  /** The first data part of that message, checked against the skills' schemas. */
  data(): Input
  readonly contextId: string
  /** The run's own task. */
  readonly taskId: string
  readonly caller: Caller
  /** Fires when the run is cancelled or this process shuts down. */
  readonly signal: AbortSignal
  /** A result of the workflow itself. The same name again replaces it. */
  artifact(name: string, content: Content, options?: Omit<ArtifactOptions, 'id' | 'append' | 'lastChunk'>): void
  /** Progress for whoever watches. */
  progress(content: Content): void
}
