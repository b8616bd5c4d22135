/** Finds agents by words. Held in memory and fed from the log of records, so that every process finds the same. */
import type { HeldCard } from './held-instance.js'
import { isPrefix, mistakesIn, termOf } from './index-terms.js'
import { type Field, type FieldTerms, maxWords, TermIndex } from './term-index.js'
import { tokenize } from './tokenize.js'
import { sortInSlices, type WorkShare } from './work-queue.js'

export interface SearchHit {
  readonly id: string
  /** 0 to 100: against the best hit of this search. */
  readonly score: number
}

/** An agent is found by the first words of each field, so that a long card costs no more than a short one. */
const longestField = 2000
/** Terms that are indexed. Beyond them agents are found by their names alone. */
const defaultMaxTerms = 300_000
/** Each word of a query is looked for in the whole index. */
const longestQuery = 1000
const maxQueryWords = 32
/** Misspelled words cost more. */
const maxGuessedWords = 8

export class SearchIndex {
  readonly #index = new TermIndex()
  /** The indexed texts of each agent: an unchanged agent is not indexed again. */
  readonly #texts = new Map<string, string>()
  readonly #maxTerms: number

  constructor(maxTerms = defaultMaxTerms) {
    this.#maxTerms = maxTerms
  }

  set(id: string, name: string, card: HeldCard, tags: readonly string[]): void {
    const texts = { name: joined([name, card.name]), ...textsOf(card, tags) }
    const text = JSON.stringify(texts)
    if (this.#texts.get(id) === text) return
    this.remove(id)
    const isFull = this.#index.size >= this.#maxTerms
    const wordsOf = (field: Field) => (isFull && field !== 'name' ? [] : termsOf(texts[field], maxWords[field]))
    const terms: FieldTerms = {
      name: wordsOf('name'),
      tags: wordsOf('tags'),
      skills: wordsOf('skills'),
      description: wordsOf('description'),
    }
    this.#index.add(id, terms)
    this.#texts.set(id, isFull ? '' : text)
  }

  remove(id: string): void {
    if (this.#texts.delete(id)) this.#index.remove(id)
  }

  clear(): void {
    this.#index.clear()
    this.#texts.clear()
  }

  /** Best first. Looks for similar words only when no agent has a word as it is written. */
  async search(text: string, isWanted: (id: string) => boolean, share: WorkShare): Promise<readonly SearchHit[]> {
    const terms = [...new Set(termsOf(text.slice(0, longestQuery), maxQueryWords))]
    const exact = await this.#find(terms, () => 0, isWanted, share)
    const guess = (term: string, place: number) => (place < maxGuessedWords ? mistakesIn(term) : 0)
    const found = exact.length > 0 ? exact : await this.#find(terms, guess, isWanted, share)
    const best = found[0]?.score ?? 1
    return found.map(({ id, score }) => ({ id, score: Math.round((score / best) * 100) }))
  }

  async #find(
    terms: readonly string[],
    mistakes: (term: string, place: number) => number,
    isWanted: (id: string) => boolean,
    share: WorkShare,
  ): Promise<readonly SearchHit[]> {
    const wanted = terms.map((term, place) => ({
      term,
      isPrefix: isPrefix(term),
      mistakes: mistakes(term, place),
    }))
    const hits: SearchHit[] = []
    for (const hit of await this.#index.search(wanted, share)) {
      if (share.isSpent(10)) await share.pause()
      if (isWanted(hit.id)) hits.push(hit)
    }
    return await sortInSlices(hits, (a, b) => b.score - a.score, share)
  }
}

function termsOf(text: string, most: number): readonly string[] {
  return tokenize(text, most).map(termOf)
}

function textsOf(card: HeldCard, tags: readonly string[]): Readonly<Record<Exclude<Field, 'name'>, string>> {
  return {
    skills: joined([
      ...card.skills.map((skill) => skill.id),
      ...card.skills.map((skill) => skill.name),
      ...card.skills.flatMap((skill) => skill.examples ?? []),
    ]),
    tags: joined(tags),
    description: joined([card.description, ...card.skills.map((skill) => skill.description)]),
  }
}

/** As much of the texts as is indexed; no more is put together than that. */
function joined(texts: readonly string[]): string {
  let all = ''
  for (const text of texts) {
    if (all.length >= longestField) break
    all += `${text.slice(0, longestField)} `
  }
  return all.slice(0, longestField)
}
