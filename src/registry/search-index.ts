/** Finds agents by words. Held in memory and fed from the log of records, so that every process finds the same. */
import MiniSearch from 'minisearch'
import type { AgentCard } from '../model/agent-card.js'
import { tokenize } from './tokenize.js'

interface Indexed {
  readonly id: string
  readonly name: string
  readonly skills: string
  readonly tags: string
  readonly description: string
}

export interface SearchHit {
  readonly id: string
  /** 0 to 100: against the best hit of this search. */
  readonly score: number
}

/** Words this long may be misspelled; shorter ones would be found everywhere. */
const shortestGuess = 4
const longestQuery = 1000

export class SearchIndex {
  readonly #index = new MiniSearch<Indexed>({
    fields: ['name', 'skills', 'tags', 'description'],
    tokenize,
    processTerm: (term) => term,
    searchOptions: { boost: { name: 4, skills: 2, tags: 3 }, prefix: (term) => term.length > 1 },
  })
  /** What each agent was indexed with: what has not changed is not indexed again. */
  readonly #texts = new Map<string, string>()

  set(id: string, name: string, card: AgentCard, tags: readonly string[]): void {
    const document: Indexed = {
      id,
      name: `${name} ${card.name}`,
      skills: card.skills.map((skill) => [skill.id, skill.name, ...(skill.examples ?? [])].join(' ')).join(' '),
      tags: tags.join(' '),
      description: [card.description, ...card.skills.map((skill) => skill.description)].join(' '),
    }
    const text = JSON.stringify(document)
    const known = this.#texts.get(id)
    if (known === text) return
    if (known === undefined) this.#index.add(document)
    else this.#index.replace(document)
    this.#texts.set(id, text)
  }

  remove(id: string): void {
    if (this.#texts.delete(id)) this.#index.discard(id)
  }

  clear(): void {
    this.#index.removeAll()
    this.#texts.clear()
  }

  /** Best first. Misspelled words are guessed at only when nothing was found as it was written. */
  search(text: string, isWanted: (id: string) => boolean): readonly SearchHit[] {
    const query = text.slice(0, longestQuery)
    const filter = ({ id }: { readonly id: unknown }) => isWanted(String(id))
    const exact = this.#index.search(query, { filter })
    const found =
      exact.length > 0
        ? exact
        : this.#index.search(query, { filter, fuzzy: (term) => (term.length >= shortestGuess ? 0.2 : false) })
    const best = found[0]?.score ?? 1
    return found.map(({ id, score }) => ({ id: String(id), score: Math.round((score / best) * 100) }))
  }
}
