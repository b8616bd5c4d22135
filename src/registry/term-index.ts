/**
 * An inverted index of short documents with four fields, ranked by BM25+. Searches run in slices (`work-queue.ts`), and
 * documents may change between slices. The radix tree of `minisearch` finds prefixes and misspelled terms.
 */
import SearchableMap from 'minisearch/SearchableMap'
import type { WorkShare } from './work-queue.js'

/** Maximum number of indexed words of each field. Below 256, because the counts of all fields share one number. */
export const maxWords = { name: 30, tags: 50, skills: 100, description: 200 }
export type Field = keyof typeof maxWords
export type FieldTerms = Readonly<Record<Field, readonly string[]>>

const fields = Object.keys(maxWords) as readonly Field[] // its own keys
const boosts: readonly number[] = [4, 3, 2, 1]
/** Maximum weights of terms that start with the wanted term, and of similar terms. */
const prefixWeight = 0.375
const similarWeight = 0.45
/** Maximum number of terms that a prefix expands to. */
const maxExpansions = 10_000
/** Cost in steps of a fuzzy search among 300,000 terms, by the number of mistakes. */
const fuzzySteps: readonly number[] = [0, 2_000, 20_000]
// Common parameters of BM25+.
const [saturation, lengthEffect, floor] = [1.2, 0.7, 0.5]

interface Postings {
  readonly term: string
  /** Occurrences of the term by document: eight bits for each field. */
  readonly counts: Map<number, number>
  /** Number of documents that have the term, by field. */
  readonly documents: number[]
}

interface IndexedDocument {
  readonly id: string
  readonly lengths: readonly number[]
  readonly postings: readonly Postings[]
}

/** Postings that match one wanted term. */
type Matches = readonly { readonly postings: Postings; readonly weight: number }[]

interface Hit {
  readonly id: string
  readonly score: number
}

export interface Wanted {
  readonly term: string
  /** Matches terms that start with it too. */
  readonly isPrefix: boolean
  /** Matches terms that differ in up to this many letters too. */
  readonly mistakes: number
}

export class TermIndex {
  #tree = new SearchableMap<Postings>()
  readonly #documents = new Map<number, IndexedDocument>()
  readonly #numbers = new Map<string, number>()
  readonly #lengths = fields.map(() => 0)
  /** Never reused, so that a running search cannot confuse documents. */
  #nextNumber = 0
  #size = 0

  /** Number of distinct terms. */
  get size(): number {
    return this.#size
  }

  add(id: string, terms: FieldTerms): void {
    this.remove(id)
    const number = this.#nextNumber++
    const postings = new Set<Postings>()
    const lengths = fields.map((field, place) => {
      for (const term of terms[field].slice(0, maxWords[field])) postings.add(this.#count(term, number, place))
      return new Set(terms[field]).size
    })
    for (const [place, length] of lengths.entries()) this.#lengths[place] = (this.#lengths[place] ?? 0) + length
    this.#documents.set(number, { id, lengths, postings: [...postings] })
    this.#numbers.set(id, number)
  }

  remove(id: string): void {
    const number = this.#numbers.get(id)
    const document = number === undefined ? undefined : this.#documents.get(number)
    if (number === undefined || !document) return
    this.#numbers.delete(id)
    this.#documents.delete(number)
    for (const [place, length] of document.lengths.entries())
      this.#lengths[place] = (this.#lengths[place] ?? 0) - length
    for (const { term, counts, documents } of document.postings) {
      const packed = counts.get(number) ?? 0
      for (const place of fields.keys()) if (countIn(packed, place) > 0) documents[place] = (documents[place] ?? 0) - 1
      counts.delete(number)
      if (counts.size > 0) continue
      this.#tree.delete(term)
      this.#size -= 1
    }
  }

  clear(): void {
    this.#tree = new SearchableMap()
    this.#documents.clear()
    this.#numbers.clear()
    this.#lengths.fill(0)
    this.#size = 0
  }

  /** Returns documents that have any of the terms, unsorted. Documents with more of the terms score higher. */
  async search(wanted: readonly Wanted[], share: WorkShare): Promise<readonly Hit[]> {
    const totals = new Map<number, { score: number; terms: number; last: number }>()
    for (const [place, each] of wanted.entries()) {
      // The fuzzy search cannot be interrupted, so its cost is charged before it starts.
      if (each.mistakes > 0 && share.isSpent(fuzzySteps[each.mistakes])) await share.pause()
      const matches = this.#matchesOf(each)
      if (share.isSpent(100 + matches.length)) await share.pause()
      for (const { postings, weight } of matches) {
        const rarity = postings.documents.map((count) => rarityOf(count, this.#documents.size))
        for (const [number, packed] of postings.counts) {
          if (share.isSpent(5)) await share.pause()
          const document = this.#documents.get(number)
          if (!document) continue
          const total = totals.get(number) ?? { score: 0, terms: 0, last: -1 }
          if (total.last < 0) totals.set(number, total)
          if (total.last !== place) total.terms += 1
          total.last = place
          total.score += weight * this.#scoreOf(packed, document, rarity)
        }
      }
    }
    const hits: Hit[] = []
    for (const [number, { score, terms }] of totals) {
      if (share.isSpent()) await share.pause()
      const document = this.#documents.get(number)
      if (document) hits.push({ id: document.id, score: score * terms })
    }
    return hits
  }

  #count(term: string, number: number, place: number): Postings {
    let postings = this.#tree.get(term)
    if (!postings) {
      postings = { term, counts: new Map(), documents: fields.map(() => 0) }
      this.#tree.set(term, postings)
      this.#size += 1
    }
    const packed = postings.counts.get(number) ?? 0
    if (countIn(packed, place) === 0) postings.documents[place] = (postings.documents[place] ?? 0) + 1
    postings.counts.set(number, packed + 256 ** place)
    return postings
  }

  #matchesOf({ term, isPrefix, mistakes }: Wanted): Matches {
    const found = new Map<Postings, number>()
    const same = this.#tree.get(term)
    if (same) found.set(same, 1)
    if (isPrefix)
      for (const postings of this.#tree.atPrefix(term).values()) {
        const { length } = postings.term
        if (!found.has(postings)) found.set(postings, (prefixWeight * length) / (length + 0.3 * (length - term.length)))
        if (found.size >= maxExpansions) break
      }
    if (mistakes > 0)
      for (const [postings, distance] of this.#tree.fuzzyGet(term, mistakes).values()) {
        const { length } = postings.term
        if (!found.has(postings)) found.set(postings, (similarWeight * length) / (length + distance))
      }
    return [...found].map(([postings, weight]) => ({ postings, weight }))
  }

  #scoreOf(packed: number, { lengths }: IndexedDocument, rarity: readonly number[]): number {
    let score = 0
    for (let place = 0; place < fields.length; place++) {
      const count = countIn(packed, place)
      if (count === 0) continue
      const averageLength = (this.#lengths[place] ?? 0) / this.#documents.size
      const length = 1 - lengthEffect + (lengthEffect * (lengths[place] ?? 0)) / averageLength
      const frequency = floor + (count * (saturation + 1)) / (count + saturation * length)
      score += (boosts[place] ?? 1) * (rarity[place] ?? 0) * frequency
    }
    return score
  }
}

function countIn(packed: number, place: number): number {
  return (packed >>> (8 * place)) & 0xff
}

function rarityOf(documents: number, all: number): number {
  return Math.log(1 + (all - documents + 0.5) / (documents + 0.5))
}
