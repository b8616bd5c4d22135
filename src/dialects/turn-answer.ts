/**
 * The whole response of one turn, for dialects that repeat it at the end (RM-STR-4).
 *
 * A response has up to three sources, best first: the artifacts, the message of the last status, and earlier progress
 * messages. A dialect takes the first source that it can express.
 */
import type { TaskArtifactUpdateEvent } from '../model/event.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import type { Task, TaskState } from '../model/task.js'

export type AnswerSources = readonly (readonly Part[])[]

/** The response in a task that was read, not streamed. */
export function answerOf({ artifacts = [], status }: Task): AnswerSources {
  return [artifacts.flatMap(({ parts }) => joinTexts(parts)), status.message?.parts ?? []]
}

/** Collects a response while it is streamed. Adding takes constant time. */
export class TurnAnswer {
  readonly #artifacts = new Map<string, Part[]>()
  readonly #progress: Part[] = []

  addArtifact({ artifact, append }: TaskArtifactUpdateEvent): void {
    const open = append ? this.#artifacts.get(artifact.artifactId) : undefined
    if (open) for (const part of artifact.parts) open.push(part)
    else this.#artifacts.set(artifact.artifactId, [...artifact.parts])
  }

  addProgress({ parts }: Message): void {
    for (const part of parts) this.#progress.push(part)
  }

  /** Handles the snapshot that a stream sends after it lost events (E-4). */
  startOver({ artifacts = [] }: Task): void {
    this.#artifacts.clear()
    this.#progress.length = 0
    for (const { artifactId, parts } of artifacts) this.#artifacts.set(artifactId, [...parts])
  }

  sources(lastWords: Message | undefined): AnswerSources {
    const artifacts = [...this.#artifacts.values()].flatMap(joinTexts)
    return [artifacts, lastWords?.parts ?? [], joinTexts(this.#progress)]
  }
}

/** Text for a task that ended without a message. */
export function endSentence(state: TaskState): string {
  if (state === 'TASK_STATE_COMPLETED') return 'The task is done'
  if (state === 'TASK_STATE_CANCELED') return 'The task was canceled'
  return state === 'TASK_STATE_REJECTED' ? 'The agent rejected the task' : 'The task failed'
}

/** Joins adjacent texts to one part: the chunks of a stream are not significant. */
function joinTexts(parts: readonly Part[]): readonly Part[] {
  if (parts.length < 2) return parts
  const joined: Part[] = []
  let texts: string[] = []
  const close = () => {
    if (texts.length > 0) joined.push({ text: texts.join('') })
    texts = []
  }
  for (const part of parts) {
    if (isPlainText(part)) texts.push(part.text)
    else {
      close()
      joined.push(part)
    }
  }
  close()
  return joined
}

function isPlainText(part: Part): part is { readonly text: string } {
  return 'text' in part && part.metadata === undefined && part.mediaType === undefined && part.filename === undefined
}
