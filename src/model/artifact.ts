import type { Part, Struct } from './part.js'

/** A result of a task. Its id is unique inside the task. */
export interface Artifact {
  readonly artifactId: string
  readonly name?: string
  readonly description?: string
  readonly parts: readonly Part[]
  readonly metadata?: Struct
  readonly extensions?: readonly string[]
}
