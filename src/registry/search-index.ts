/** Finds agents by words. Held in memory and fed from the log of records, so that every process finds the same. */
import MiniSearch from 'minisearch'
import type { HeldCard } from './held-instance.js'
import { isPrefix, mistakesIn, termOf } from './index-terms.js'
import { TermCount } from './term-count.js'
import { tokenize } from './tokenize.js'

interface Indexed extends Readonly<Record<Field, string>> {
  readonly id: string
}

type Field = keyof typeof mostWords

export interface SearchHit {
  readonly id: string
  /** 0 to 100: against the best hit of this search. */
  readonly score: number
}

/** An agent is found by its first words: whoever says more does not make everybody else wait, nor the memory full. */
const mostWords = { name: 30, tags: 50, skills: 100, description: 200 }
const mostWordsInAll = Object.values(mostWords).reduce((sum, each) => sum + each)
const longestField = 2000
/** Of 0.7 KB each, and more than anybody needs who means what he says. Beyond them agents are found by their names alone. */
const usualTerms = 300_000
/** Each word of a query is looked for in the whole index. */
const longestQuery = 1000
const mostQueried = 32
/** Guessing costs more. */
const mostGuessed = 8

export class SearchIndex {
  readonly #index = new MiniSearch<Indexed>({
    fields: Object.keys(mostWords),
    // Without a field it is a query.
    tokenize: (text, field) =>
      field === undefined ? tokenize(text, mostQueried) : this.#wordsIn(text, field as Field),
    processTerm: termOf,
    searchOptions: { boost: { name: 4, skills: 2, tags: 3 }, prefix: isPrefix },
  })
  /** What each agent was indexed with: what has not changed is not indexed again. */
  readonly #texts = new Map<string, string>()
  readonly #terms: TermCount

  constructor(mostTerms = usualTerms) {
    this.#terms = new TermCount(mostTerms, () => this.#index.termCount)
  }

  set(id: string, name: string, card: HeldCard, tags: readonly string[]): void {
    const named = { id, name: joined([name, card.name]) }
    const whole = { ...named, ...wordsOf(card, tags) }
    const text = JSON.stringify(whole)
    if (this.#texts.get(id) === text) return
    this.remove(id)
    const isFull = this.#terms.isFull()
    this.#index.add(isFull ? { ...named, skills: '', tags: '', description: '' } : whole)
    this.#texts.set(id, isFull ? '' : text)
  }

  remove(id: string): void {
    if (!this.#texts.delete(id)) return
    this.#index.discard(id)
    this.#terms.removed(mostWordsInAll)
  }

  clear(): void {
    this.#index.removeAll()
    this.#texts.clear()
  }

  #wordsIn(text: string, field: Field): string[] {
    const words = tokenize(text, mostWords[field])
    this.#terms.added(words.length)
    return words
  }

  /** Best first. Misspelled words are guessed at only when nothing was found as it was written. */
  search(text: string, isWanted: (id: string) => boolean): readonly SearchHit[] {
    const query = text.slice(0, longestQuery)
    const filter = ({ id }: { readonly id: unknown }) => isWanted(String(id))
    const exact = this.#index.search(query, { filter })
    const found =
      exact.length > 0
        ? exact
        : this.#index.search(query, { filter, fuzzy: (term, place) => (place < mostGuessed ? mistakesIn(term) : 0) })
    const best = found[0]?.score ?? 1
    return found.map(({ id, score }) => ({ id: String(id), score: Math.round((score / best) * 100) }))
  }
}

function wordsOf(card: HeldCard, tags: readonly string[]): Omit<Indexed, 'id' | 'name'> {
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
