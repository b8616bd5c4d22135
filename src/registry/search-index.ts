/** Finds agents by words. Held in memory and fed from the log of records, so that every process finds the same. */
import type { CardSummary } from './documents.js'
import { type Field, type FieldTerms, maxWords, TermIndex } from './term-index.js'
import { sortInSlices, type WorkShare } from './work-queue.js'

export interface SearchHit {
  readonly id: string
  /** 0 to 100: against the best hit of this search. */
  readonly score: number
}

/** An agent is found by the first words of each field, so that a long card costs no more than a short one. */
const maxFieldLength = 2000
/** Terms that are indexed. Beyond them agents are found by their names alone. */
const defaultMaxTerms = 300_000
/** Each word of a query is looked for in the whole index. */
const maxQueryLength = 1000
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

  set(id: string, name: string, card: CardSummary, tags: readonly string[]): void {
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
    const terms = [...new Set(termsOf(text.slice(0, maxQueryLength), maxQueryWords))]
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

function textsOf(card: CardSummary, tags: readonly string[]): Readonly<Record<Exclude<Field, 'name'>, string>> {
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
    if (all.length >= maxFieldLength) break
    all += `${text.slice(0, maxFieldLength)} `
  }
  return all.slice(0, maxFieldLength)
}

/**
 * Words of a text in any language. Scripts that put no space between words are cut by the platform's dictionary;
 * everything else at what is neither letter nor digit, which is much faster.
 */
const wordsOfAll = /[\p{L}\p{N}]+/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })
/** Nobody looks for longer words; what is longer is cut there. */
const maxWordLength = 64
/** The dictionary takes the square of the length of what it is given, and words are much shorter than this. */
const maxRunLength = 128

/** At most `most` words, from the beginning: nothing behind them is looked at. */
export function tokenize(text: string, most: number): string[] {
  const words: string[] = []
  for (const run of runsOf(text)) {
    if (words.length >= most) break
    if (run.isUnspaced) segmentRun(run.text, words)
    else words.push(run.text.slice(0, maxWordLength))
  }
  return words.slice(0, most)
}

function* runsOf(text: string): Generator<{ readonly text: string; readonly isUnspaced: boolean }> {
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(wordsOfAll)) {
    let end = 0
    for (const { 0: dense, index } of run.matchAll(unspaced)) {
      if (index > end) yield { text: run.slice(end, index), isUnspaced: false }
      // One character of each piece is also in the next, so that no two that stand together are parted.
      for (let start = 0; start === 0 || start + 1 < dense.length; start += maxRunLength - 1)
        yield { text: dense.slice(start, start + maxRunLength), isUnspaced: true }
      end = index + dense.length
    }
    if (end < run.length) yield { text: run.slice(end), isUnspaced: false }
  }
}

/**
 * Dictionaries differ, and cut 互联网 into one word, three, or none that anybody looks for. So every two characters that
 * stand together are words as well, and what the dictionary knows counts twice.
 */
function segmentRun(dense: string, words: string[]): void {
  const characters = [...dense]
  if (characters.length === 1) words.push(dense)
  for (const { segment } of segmenter.segment(dense)) if ([...segment].length > 1) words.push(segment)
  for (let place = 0; place + 1 < characters.length; place++) words.push(characters.slice(place, place + 2).join(''))
}

/**
 * How words are written in the index. It is a tree that looks through all letters that may follow another, one by one:
 * quick with an alphabet, slower by a thousand with twenty thousand Chinese characters. So letters outside of the
 * alphabets are written with three signs each, of which only a few may follow another.
 */
const lastOfAlphabets = 0x0600
/** For private use, so they are in no word. */
const signs = 0xe000
const outside = /[\u0600-\uffff]/g

export function termOf(word: string): string {
  return word.replace(outside, (letter) => {
    const code = letter.charCodeAt(0)
    return String.fromCharCode(
      signs + (code >> 11),
      signs + 0x100 + ((code >> 5) & 0x3f),
      signs + 0x200 + (code & 0x1f),
    )
  })
}

/** Words of one letter begin too many others. */
export function isPrefix(term: string): boolean {
  return term.length > (isSpelled(term) ? 3 : 1)
}

/** How many letters of a term may be wrong; in short ones none, they would be found everywhere. */
export function mistakesIn(term: string): number {
  if (isSpelled(term) || term.length < 4) return 0
  return term.length < 8 ? 1 : 2
}

function isSpelled(term: string): boolean {
  return term.charCodeAt(0) >= lastOfAlphabets
}
