import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Artifact } from '../model/artifact.js'
import { type JsonValue, type Part, textOf } from '../model/part.js'
import type { Task } from '../model/task.js'

/** The result of a completed step. */
export class StepResult {
  /** The name of the step. */
  readonly name: string
  /** The name of its agent. */
  readonly agent: string
  readonly artifacts: readonly Artifact[]
  /** The agent's task without its history; undefined if the agent answered with a message. */
  readonly task: Task | undefined

  constructor(facts: Pick<StepResult, 'name' | 'agent' | 'artifacts' | 'task'>) {
    this.name = facts.name
    this.agent = facts.agent
    this.artifacts = facts.artifacts
    this.task = facts.task
  }

  /** The text of the artifacts; without artifacts, of the status message. */
  get text(): string {
    if (this.artifacts.length > 0) return this.artifacts.map(textOf).join('\n')
    return this.task?.status.message ? textOf(this.task.status.message) : ''
  }

  /** The parts of the artifacts; without artifacts, of the status message. */
  get parts(): readonly Part[] {
    if (this.artifacts.length > 0) return this.artifacts.flatMap(({ parts }) => parts)
    return this.task?.status.message?.parts ?? []
  }

  /** The first data part; with a schema, validated and typed. Throws `TypeError` if it is invalid. */
  data(): JsonValue | undefined
  data<Schema extends StandardSchemaV1>(schema: Schema): StandardSchemaV1.InferOutput<Schema>
  data(schema?: StandardSchemaV1): unknown {
    const part = this.parts.find((each) => 'data' in each)
    if (!schema) return part?.data
    const result = schema['~standard'].validate(part?.data)
    if (result instanceof Promise) throw new TypeError('Asynchronous schemas are not supported here')
    if (!result.issues) return result.value
    const faults = result.issues.map(({ message, path = [] }) => `${path.map(segmentText).join('.')} ${message}`.trim())
    throw new TypeError(`The data of step ${this.name} is invalid: ${faults.join('; ')}`)
  }
}

function segmentText(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment)
}

/** Thrown when all attempts of a step failed. The caller of the run sees its message. */
export class StepError extends Error {
  /** The name of the step. */
  readonly step: string
  /** The name of the agent of the last attempt. */
  readonly agent: string

  constructor(step: string, agent: string, why: string, cause?: unknown) {
    super(`Step ${step} failed: ${why}`, cause === undefined ? undefined : { cause })
    this.name = 'StepError'
    this.step = step
    this.agent = agent
  }
}
