/** Full-text search over agents: extracts and encodes words of any language, and ranks matches. Held in memory. */
import type { CardSummary } from './documents.js'
import { type Field, type FieldTerms, maxWords, TermIndex } from './term-index.js'
import { sortInSlices, type WorkShare } from './work-queue.js'

interface SearchHit {
  readonly id: string
  /** 0 to 100, relative to the best hit. */
  readonly score: number
}

/** Maximum number of characters of a field that are indexed, so that long cards cost no more than short ones. */
const maxFieldLength = 2000
/** Maximum number of indexed terms. Beyond it, agents are indexed by name only. */
const defaultMaxTerms = 300_000
/** Limits the cost of a query. */
const maxQueryLength = 1000
const maxQueryWords = 32
/** Words for which misspellings are searched too, which costs more. */
const maxGuessedWords = 8

export class SearchIndex {
  readonly #index = new TermIndex()
  /** Indexed texts by agent; an unchanged agent is not indexed again. */
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

  /** Returns hits, best first. Searches for similar words only if there is no exact match. */
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

function termsOf(text: string, max: number): readonly string[] {
  return tokenize(text, max).map(termOf)
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

/** Joins texts up to the indexed length. */
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
const wordPattern = /[\p{L}\p{N}]+/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })
/** Longer words are truncated. */
const maxWordLength = 64
/** The segmenter needs quadratic time, so long runs are split. */
const maxRunLength = 128

/**
 * Splits a text into at most `max` words. Scripts without spaces between words are segmented with `Intl.Segmenter`; other
 * text is split at characters that are neither letters nor digits, which is much faster.
 */
export function tokenize(text: string, max: number): string[] {
  const words: string[] = []
  for (const run of runsOf(text)) {
    if (words.length >= max) break
    if (run.isUnspaced) segmentRun(run.text, words)
    else words.push(run.text.slice(0, maxWordLength))
  }
  return words.slice(0, max)
}

function* runsOf(text: string): Generator<{ readonly text: string; readonly isUnspaced: boolean }> {
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(wordPattern)) {
    let end = 0
    for (const { 0: dense, index } of run.matchAll(unspaced)) {
      if (index > end) yield { text: run.slice(end, index), isUnspaced: false }
      // Pieces overlap by one character, so that every pair of neighbours is in one piece.
      for (let start = 0; start === 0 || start + 1 < dense.length; start += maxRunLength - 1)
        yield { text: dense.slice(start, start + maxRunLength), isUnspaced: true }
      end = index + dense.length
    }
    if (end < run.length) yield { text: run.slice(end), isUnspaced: false }
  }
}

/**
 * Segmenters differ: they may split 互联网 into one word or three. So every pair of neighbouring characters is indexed too,
 * and words that the segmenter knows count twice.
 */
function segmentRun(dense: string, words: string[]): void {
  const characters = [...dense]
  if (characters.length === 1) words.push(dense)
  for (const { segment } of segmenter.segment(dense)) if ([...segment].length > 1) words.push(segment)
  for (let place = 0; place + 1 < characters.length; place++) words.push(characters.slice(place, place + 2).join(''))
}

/**
 * Encodes words for the index. The index is a tree that looks through all letters that may follow another, one by one:
 * quick with an alphabet, slower by a thousand with twenty thousand Chinese characters. So letters outside of the
 * alphabets are written with three signs each, of which only a few may follow another.
 */
const firstNonAlphabetic = 0x0600
/** Private-use characters, which occur in no word. */
const encodedBase = 0xe000
const nonAlphabetic = /[\u0600-\uffff]/g

/**
 * Encodes a word for the radix tree, which iterates over all children of a node: fast for alphabets, slow for thousands of
 * Chinese characters. So characters outside of alphabets become three private-use characters with few values each.
 */
export function termOf(word: string): string {
  return word.replace(nonAlphabetic, (letter) => {
    const code = letter.charCodeAt(0)
    return String.fromCharCode(
      encodedBase + (code >> 11),
      encodedBase + 0x100 + ((code >> 5) & 0x3f),
      encodedBase + 0x200 + (code & 0x1f),
    )
  })
}

/** One-letter words match too many others as a prefix. */
export function isPrefix(term: string): boolean {
  return term.length > (isEncoded(term) ? 3 : 1)
}

/** Number of tolerated misspellings; none in short terms, which would match too much. */
export function mistakesIn(term: string): number {
  if (isEncoded(term) || term.length < 4) return 0
  return term.length < 8 ? 1 : 2
}

function isEncoded(term: string): boolean {
  return term.charCodeAt(0) >= firstNonAlphabetic
}
