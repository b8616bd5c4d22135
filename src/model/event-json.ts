/** Serialisation of events, and of the chunks of a streamed text in any dialect. */
import type { StreamResponse, TaskArtifactUpdateEvent, TaskEvent } from './event.js'

/**
 * Serialises events of one task. The JSON of an event is cached on it: the store writes, and every v1.0 reader receives,
 * the same text. (A separate `WeakMap` cost 10 % of the time in garbage collection.)
 */
export class EventJson {
  readonly #chunks = new TextChunks(asEvent)

  of(event: TaskEvent): string {
    const { body } = event
    event.json ??= 'artifactUpdate' in body ? this.#chunks.encode(body.artifactUpdate) : JSON.stringify(body)
    return event.json
  }
}

function asEvent(artifactUpdate: TaskArtifactUpdateEvent): StreamResponse {
  return { artifactUpdate }
}

/** Values in place of a text and a number. Both are looked for in the JSON of an event. */
const textMark = '\0'
const textMarkJson = JSON.stringify(textMark)
const numberMark = Number.MAX_SAFE_INTEGER
const numberMarkJson = String(numberMark)

/** The JSON of a chunk, without its text and its number. */
interface Template {
  readonly beforeText: string
  readonly afterText: string
  /** Absent: the dialect does not number chunks. */
  readonly afterNumber: string | undefined
}

/**
 * Serialises the artifact events of one stream. The chunks of a streamed text differ in their text only, and in a number
 * where a dialect numbers them. So the JSON around these is kept from chunk to chunk. In v1.0 a chunk of a stream of
 * 100 takes 0.2 µs this way, and 0.8 µs with `JSON.stringify`. In v0.3 an event takes 0.3 instead of 1.2 µs.
 */
export class TextChunks {
  readonly #toWire: (update: TaskArtifactUpdateEvent, number: number) => object
  #previous: TaskArtifactUpdateEvent | undefined
  /** Of `#previous` and the chunks like it. Created with the second such chunk: first and last chunks have none like them. */
  #template: Template | undefined

  constructor(toWire: (update: TaskArtifactUpdateEvent, number: number) => object) {
    this.#toWire = toWire
  }

  /** `number` is passed to the encoder of the dialect. */
  encode(update: TaskArtifactUpdateEvent, number = 0): string {
    const text = onlyText(update)
    if (text === undefined) return JSON.stringify(this.#toWire(update, number))
    if (this.#previous === undefined || !isAlike(this.#previous, update)) {
      this.#previous = update
      this.#template = undefined
      return JSON.stringify(this.#toWire(update, number))
    }
    this.#template ??= this.#createTemplate(update)
    if (this.#template === undefined) return JSON.stringify(this.#toWire(update, number))
    const { beforeText, afterText, afterNumber } = this.#template
    const encoded = beforeText + JSON.stringify(text) + afterText
    return afterNumber === undefined ? encoded : encoded + number + afterNumber
  }

  /** Undefined if a mark is in another value of the event. */
  #createTemplate(update: TaskArtifactUpdateEvent): Template | undefined {
    const artifact = { ...update.artifact, parts: [{ text: textMark }] }
    const json = JSON.stringify(this.#toWire({ ...update, artifact }, numberMark))
    const [beforeText, rest, ...otherTexts] = json.split(textMarkJson)
    if (beforeText === undefined || rest === undefined || otherTexts.length > 0) return undefined
    const [afterText, afterNumber, ...otherNumbers] = rest.split(numberMarkJson)
    if (afterText === undefined || otherNumbers.length > 0 || beforeText.includes(numberMarkJson)) return undefined
    return { beforeText, afterText, afterNumber }
  }
}

/** The text of a chunk that has nothing else. */
export function onlyText({ artifact: { parts } }: TaskArtifactUpdateEvent): string | undefined {
  const part = parts[0]
  if (parts.length !== 1 || part === undefined || !('text' in part)) return undefined
  // A handler may add members of its own; v1.0 sends them.
  for (const name in part) if (name !== 'text') return undefined
  return part.text
}

/** Whether two chunks differ at most in their parts. */
function isAlike(a: TaskArtifactUpdateEvent, b: TaskArtifactUpdateEvent): boolean {
  return (
    a.taskId === b.taskId &&
    a.contextId === b.contextId &&
    a.append === b.append &&
    a.lastChunk === b.lastChunk &&
    a.metadata === b.metadata &&
    a.artifact.artifactId === b.artifact.artifactId &&
    a.artifact.name === b.artifact.name &&
    a.artifact.description === b.artifact.description &&
    a.artifact.metadata === b.artifact.metadata &&
    a.artifact.extensions === b.artifact.extensions
  )
}
