/** The content of the artifacts of one turn, as the events by which it grows. */
import type { Artifact } from '../model/artifact.js'
import { A2AError } from '../model/errors.js'
import type { TaskArtifactUpdateEvent } from '../model/event.js'
import type { Part } from '../model/part.js'
import { sizeOf } from '../model/size-of.js'
import type { TurnEvent } from './turn-event.js'

/** The content of an artifact. */
interface Content {
  readonly name: string | undefined
  /** The number of parts that earlier turns wrote, and of data parts among them. */
  readonly earlierParts: number
  readonly earlierData: number
  /** The parts of this turn. Adjacent texts are one part. */
  parts: Part[]
  /** The number of data parts of all turns. */
  dataParts: number
}

type Emit = (event: TurnEvent) => void

/**
 * The number of characters that events of one turn may repeat because of resets. An update of a few bytes can repeat the
 * content of all other artifacts.
 */
const maxRepeated = 100_000_000

/** Each repeated part and each artifact that is looked at again counts as this many characters. */
const costOfVisit = 1000

/**
 * The content of one turn so far. The reader calls `skip` for artifacts of earlier turns, `update` for each event of an
 * artifact, and `whole` for each artifact of a task, after `reset` if the task does not continue the content (`isPartOf`).
 * `endTexts` comes last.
 */
export class TurnContent {
  readonly #emit: Emit
  readonly #contents = new Map<string, Content>()
  /** Artifacts whose text has begun and not ended. */
  readonly #openTexts = new Set<string>()
  #repeated = 0

  constructor(emit: Emit) {
    this.#emit = emit
  }

  /** Discards the content of the turn. */
  reset(): void {
    this.#openTexts.clear()
    for (const content of this.#contents.values()) {
      content.parts = []
      content.dataParts = content.earlierData
    }
    this.#emit({ kind: 'reset' })
  }

  /** Whether artifacts begin with all content so far, so that they only add to it. */
  isPartOf(artifacts: readonly Artifact[]): boolean {
    const byId = new Map(artifacts.map(({ artifactId, parts }) => [artifactId, parts]))
    this.#repeat(Math.max(0, this.#contents.size - byId.size) * costOfVisit)
    return [...this.#contents].every(
      ([id, { parts, earlierParts }]) =>
        parts.length === 0 || additionTo(parts, byId.get(id)?.slice(earlierParts) ?? []) !== undefined,
    )
  }

  /**
   * Emits the content of an artifact in a task, the parts of this turn only, as far as the reader does not have it.
   * `isOfTurn` is called for artifacts that no event was about.
   */
  whole(artifact: Artifact, isOfTurn: (artifactId: string) => boolean): void {
    const { artifactId: id, parts } = artifact
    const known = this.#contents.get(id)
    if (!known && isOfTurn(id)) this.#append(id, this.#open(artifact), parts)
    else if (!known) this.skip(artifact, false)
    else this.#append(id, known, additionTo(known.parts, parts.slice(known.earlierParts)) ?? [])
  }

  update({ artifact, append = false, lastChunk = false }: TaskArtifactUpdateEvent): void {
    const { artifactId: id } = artifact
    const parts = lastChunk ? artifact.parts.filter((part) => !isEmptyText(part)) : artifact.parts
    const known = this.#contents.get(id)
    if (!known || (!append && known.parts.length === 0)) this.#append(id, this.#open(artifact), parts)
    else if (append) this.#append(id, known, parts)
    else this.#rewrite(id, known, parts)
    if (lastChunk) this.endText(id)
  }

  /** An artifact of this turn was written again as a whole. */
  #rewrite(id: string, known: Content, parts: readonly Part[]): void {
    const addition = additionTo(known.parts, parts)
    if (addition) this.#append(id, known, addition)
    else if (isData(known.parts) && isData(parts) && parts.length >= known.parts.length) {
      known.parts = []
      known.dataParts = known.earlierData
      this.#append(id, known, parts)
    } else {
      const all = [...this.#contents].map(([each, content]) => [each, content, content.parts] as const)
      this.reset()
      for (const [each, content, before] of all) {
        if (each !== id) this.#repeat(before.reduce((sum, part) => sum + costOfVisit + sizeOf(part), costOfVisit))
        this.#append(each, content, each === id ? parts : before)
      }
    }
  }

  /** Counts work that the agent did not send content for. */
  #repeat(size: number): void {
    this.#repeated += size
    if (this.#repeated > maxRepeated)
      throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent replaces artifacts of a large turn too often')
  }

  /** Notes an artifact of an earlier turn. */
  skip({ artifactId, name, parts }: Artifact, append: boolean): void {
    const known = append ? this.#contents.get(artifactId) : undefined
    const earlierParts = (known?.earlierParts ?? 0) + parts.filter((part) => !isEmptyText(part)).length
    const earlierData = (known?.earlierData ?? 0) + parts.filter((part) => 'data' in part).length
    this.#contents.set(artifactId, { name, earlierParts, earlierData, parts: [], dataParts: earlierData })
  }

  #open({ artifactId, name }: Artifact): Content {
    const content = { name, earlierParts: 0, earlierData: 0, parts: [], dataParts: 0 }
    this.#contents.set(artifactId, content)
    return content
  }

  #append(id: string, content: Content, parts: readonly Part[]): void {
    const named = content.name === undefined ? { id } : { id, name: content.name }
    for (const part of parts) {
      add(content.parts, part)
      if ('text' in part) {
        if (part.text === '') continue
        this.#openTexts.add(id)
        this.#emit({ kind: 'text', ...named, text: part.text })
      } else if ('data' in part) {
        const { data: value, mediaType } = part
        const index = content.dataParts++
        this.#emit({ kind: 'data', ...named, index, value, ...(mediaType !== undefined && { mediaType }) })
      } else this.#emit({ kind: 'file', ...named, part })
    }
  }

  endText(id: string): void {
    if (this.#openTexts.delete(id)) this.#emit({ kind: 'textEnd', id })
  }

  endTexts(): void {
    for (const id of this.#openTexts) this.endText(id)
  }
}

/** The parts by which a content exceeds an earlier one; undefined if it does not begin with it. */
function additionTo(known: readonly Part[], now: readonly Part[]): readonly Part[] | undefined {
  const parts: Part[] = []
  for (const part of now) add(parts, part)
  for (const [place, part] of known.entries()) {
    const other = parts[place]
    if (!other) return undefined
    const isLast = place === known.length - 1
    if (isLast && 'text' in part && 'text' in other && other.text.startsWith(part.text)) {
      const rest = parts.slice(place + 1)
      return other.text === part.text ? rest : [{ text: other.text.slice(part.text.length) }, ...rest]
    }
    if (JSON.stringify(part) !== JSON.stringify(other)) return undefined
  }
  return parts.slice(known.length)
}

/** Adds a part to a list in which adjacent texts are one part: a text may come in chunks or whole. */
function add(parts: Part[], part: Part): void {
  const last = parts.at(-1)
  if (last && 'text' in part && 'text' in last) parts[parts.length - 1] = { text: last.text + part.text }
  else parts.push('text' in part ? { text: part.text } : part)
}

function isData(parts: readonly Part[]): boolean {
  return parts.every((part) => 'data' in part)
}

function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}
