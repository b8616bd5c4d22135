/**
 * Decodes chunks of an artifact without parsing each of them. Consecutive chunks usually differ only in the text of their
 * part. If a frame begins and ends like the last one, with a valid JSON string between, its event is a copy of the last
 * event with that text. `JSON.parse` and decoding take 3 µs per chunk, this takes 0.3 µs.
 */
import { copyJson } from '../model/copy-json.js'
import type { StreamResponse, TaskArtifactUpdateEvent } from '../model/event.js'

type Decode = (data: string) => readonly StreamResponse[]

const maxFrameLength = 16 * 1024
const maxPause = 1024

export class RepeatedChunks {
  #start = ''
  #end = ''
  #update: TaskArtifactUpdateEvent | undefined
  /** Whether the update has no nested members, such as metadata, which events must not share. */
  #isFlat = false
  /** Frames before the next attempt to learn. Doubles while attempts gain nothing: each costs one decoding. */
  #pause = 1
  #framesToSkip = 0

  /** Returns the event of a frame that differs from the learned one only in its text. Any other frame ends that. */
  read(data: string): StreamResponse | undefined {
    const update = this.#update
    if (!update) return undefined
    const from = this.#start.length
    const to = data.length - this.#end.length
    // Comparing substrings is eight times faster than `startsWith` and `endsWith`.
    if (to > from && data.substring(0, from) === this.#start && data.substring(to) === this.#end) {
      const text = readLiteral(data.substring(from, to))
      if (text !== undefined) {
        this.#pause = 1
        this.#framesToSkip = 0
        return withText(this.#isFlat ? update : copyJson(update), text)
      }
    }
    // The decoder fills in missing ids from earlier frames, so another frame may change the result.
    this.#update = undefined
    return undefined
  }

  /** Learns a frame from its event. `decode` decodes frames of the same stream. */
  learn(data: string, events: readonly StreamResponse[], decode: Decode): void {
    const [event] = events
    if (data.length > maxFrameLength || events.length !== 1 || !event || !('artifactUpdate' in event)) return
    if (this.#framesToSkip-- > 0) return
    this.#framesToSkip = this.#pause
    this.#pause = Math.min(this.#pause * 2, maxPause)
    const { artifactUpdate: update } = event
    const text = textIn(update)
    if (text === undefined) return
    const literal = JSON.stringify(text).slice(1, -1)
    const at = data.lastIndexOf(`"${literal}"`) + 1
    if (at === 0) return // the peer escapes other characters
    const start = data.slice(0, at)
    const end = data.slice(at + literal.length)
    if (!changesOnlyText(decode, `${start}${literal}.${end}`, withText(update, `${text}.`))) return
    this.#start = start
    this.#end = end
    this.#update = copyJson(update) // the reader of the stream gets the event itself and may change it
    this.#isFlat = isFlat(update)
  }
}

/** Whether the literal is the text of the part, and not an equal text elsewhere. */
function changesOnlyText(decode: Decode, data: string, expected: StreamResponse): boolean {
  try {
    return JSON.stringify(decode(data)) === JSON.stringify([expected])
  } catch {
    return false
  }
}

/** The text of the only part. */
function textIn({ artifact: { parts } }: TaskArtifactUpdateEvent): string | undefined {
  const [part] = parts
  return parts.length === 1 && part && 'text' in part && part.text !== '' ? part.text : undefined
}

function isFlat({ artifact, ...rest }: TaskArtifactUpdateEvent): boolean {
  const { parts, ...others } = artifact
  return [rest, others, ...parts].every((members) => Object.values(members).every((value) => typeof value !== 'object'))
}

function withText(update: TaskArtifactUpdateEvent, text: string): StreamResponse {
  const { artifact } = update
  return { artifactUpdate: { ...update, artifact: { ...artifact, parts: [{ ...artifact.parts[0], text }] } } }
}

/** All characters except quotes, backslashes and control characters, which JSON escapes. */
const plain = /^[ !#-[\]-\uffff]+$/

/** Returns the value of a JSON string without its quotes, or undefined if it is not one. */
function readLiteral(literal: string): string | undefined {
  // A long substring keeps all text that arrived with it in memory, so it is copied.
  if (plain.test(literal)) return literal.length < 13 ? literal : ` ${literal}`.slice(1)
  try {
    return JSON.parse(`"${literal}"`) as string
  } catch {
    return undefined
  }
}
