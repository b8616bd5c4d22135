/** The artifacts of another agent's task, said again as ours: as they grow, and whole where a whole task is told. */
import type { Artifact } from '../model/artifact.js'
import type { StreamResponse, TaskArtifactUpdateEvent } from '../model/event.js'
import { type ArtifactDraft, artifact } from './yields.js'

export class RetoldArtifacts {
  readonly #prefix: string
  readonly #extensions: readonly string[]
  readonly #seen = new Set<string>()

  /** `prefix` keeps the ids of several tasks apart; `extensions` are added to what each artifact says of itself. */
  constructor(options: { readonly prefix?: string; readonly extensions?: readonly string[] } = {}) {
    this.#prefix = options.prefix ?? ''
    this.#extensions = options.extensions ?? []
  }

  /** Whether anything was told yet. */
  get isBegun(): boolean {
    return this.#seen.size > 0
  }

  update({ artifact: made, append = false, lastChunk }: TaskArtifactUpdateEvent): ArtifactDraft | undefined {
    const isMore = append && this.#seen.has(made.artifactId)
    return this.#draft(made, isMore, lastChunk)
  }

  /** All of them as they are now; what was told before is replaced. */
  whole(artifacts: readonly Artifact[]): readonly ArtifactDraft[] {
    return artifacts.flatMap((each) => this.#draft(each, false) ?? [])
  }

  /** They were told before, in another turn. */
  pass(artifacts: readonly Artifact[]): void {
    for (const { artifactId } of artifacts) this.#seen.add(artifactId)
  }

  #draft(made: Artifact, append: boolean, lastChunk?: boolean): ArtifactDraft | undefined {
    const { artifactId, name = '', description, parts, metadata } = made
    const extensions = [...this.#extensions, ...(made.extensions ?? [])]
    this.#seen.add(artifactId)
    // Strange peers send artifacts with nothing in them; ours have something.
    if (parts.length === 0) return undefined
    return artifact(name, parts, {
      id: `${this.#prefix}${artifactId}`,
      append,
      ...(lastChunk !== undefined && { lastChunk }),
      ...(description !== undefined && { description }),
      ...(metadata && { metadata }),
      ...(extensions.length > 0 && { extensions }),
    })
  }
}

/** The task that an event is about. */
export function taskIdIn(event: StreamResponse): string | undefined {
  if ('task' in event) return event.task.id
  if ('statusUpdate' in event) return event.statusUpdate.taskId
  return 'artifactUpdate' in event ? event.artifactUpdate.taskId : undefined
}
