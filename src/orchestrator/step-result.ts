import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Artifact } from '../model/artifact.js'
import { type JsonValue, type Part, textOf } from '../model/part.js'
import type { Task } from '../model/task.js'

/** What came of a step. */
export class StepResult {
  /** The name of the step. */
  readonly name: string
  /** Who did it. */
  readonly agent: string
  readonly artifacts: readonly Artifact[]
  /** The agent's task, without its history; absent when the agent answered with a Message. */
  readonly task: Task | undefined

  constructor(facts: Pick<StepResult, 'name' | 'agent' | 'artifacts' | 'task'>) {
    this.name = facts.name
    this.agent = facts.agent
    this.artifacts = facts.artifacts
    this.task = facts.task
  }

  /** The text of the artifacts, else of the agent's last words. */
  get text(): string {
    if (this.artifacts.length > 0) return this.artifacts.map(textOf).join('\n')
    return this.task?.status.message ? textOf(this.task.status.message) : ''
  }

  /** Everything the step gave, as parts of a message. */
  get parts(): readonly Part[] {
    if (this.artifacts.length > 0) return this.artifacts.flatMap(({ parts }) => parts)
    return this.task?.status.message?.parts ?? []
  }

  /** The first data part; with a schema, checked and typed. */
  data(): JsonValue | undefined
  data<Schema extends StandardSchemaV1>(schema: Schema): StandardSchemaV1.InferOutput<Schema>
  data(schema?: StandardSchemaV1): unknown {
    const part = this.parts.find((each) => 'data' in each)
    if (!schema) return part?.data
    const result = schema['~standard'].validate(part?.data)
    if (result instanceof Promise) throw new TypeError('A schema that has to wait cannot be used here')
    if (!result.issues) return result.value
    const faults = result.issues.map(({ message, path = [] }) => `${path.map(spell).join('.')} ${message}`.trim())
    throw new TypeError(`The data of step ${this.name} is not what was expected: ${faults.join('; ')}`)
  }
}

function spell(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment)
}

/** A step that nobody could do. Its message may be told to whoever started the run. */
export class StepError extends Error {
  /** The name of the step. */
  readonly step: string
  /** Who was asked last. */
  readonly agent: string

  constructor(step: string, agent: string, why: string, cause?: unknown) {
    super(`Step ${step} failed: ${why}`, cause === undefined ? undefined : { cause })
    this.name = 'StepError'
    this.step = step
    this.agent = agent
  }
}
