// Extractive summary: picks the sentences whose words are most frequent in the text, weighted by position and length, and
// keeps their order.
import { languageOf } from './language.ts'

const common = {
  zh: '的 了 是 在 和 与 也 就 都 而 及 或 有 这 那 它 他 她 我 你 我们 你们 他们 一个 这个 那个 可以 没有 不 会 要 把 被 让 对 从 到 上 下 中 里 之 其 等 为 以 于 很 更 最 还 又 再 并 但 如果 因为 所以 什么 怎么 自己',
  en: 'a an the and or but if of in on at to for from with by as is are was were be been being it its this that these those he she they we you i his her their our your not no so than then there here when which who whom what how can could may might must will would shall should do does did have has had about into over more most also only other such one',
}

const stopWords = { zh: new Set(common.zh.split(' ')), en: new Set(common.en.split(' ')) }

/** A summary has a fifth of the sentences, up to this limit. */
const maxSentences = 5
/** Characters of the text that are read, which bounds the CPU time of one request. */
const maxCharacters = 200_000

export function summarise(whole: string) {
  const text = whole.slice(0, maxCharacters)
  const language = languageOf(text)
  const sentences = sentencesOf(text, language).map((sentence, place) => ({
    text: sentence,
    place,
    terms: termsOf(sentence, language),
  }))
  const wanted = Math.min(maxSentences, Math.max(2, Math.round(sentences.length / 5)))
  if (sentences.length <= wanted) return sentences.map((each) => each.text).join(language === 'zh' ? '' : ' ')
  const frequency = count(sentences.flatMap(({ terms }) => terms))
  const ranked = sentences
    .map((each) => ({ ...each, score: score(each, sentences.length, frequency) }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
  const chosen: typeof ranked = []
  for (const each of ranked) {
    if (chosen.length === wanted) break
    if (!chosen.some((other) => overlap(each.terms, other.terms) > 0.6)) chosen.push(each)
  }
  chosen.sort((a, b) => a.place - b.place)
  return chosen.map((each) => each.text).join(language === 'zh' ? '' : ' ')
}

/** Removes Markdown first, so that headings and code do not count as sentences. */
function sentencesOf(text: string, language: 'zh' | 'en') {
  const prose = text
    .replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, '')
    .replace(/^[ \t]*#{1,6}[ \t].*$/gm, '')
    .replace(/^[ \t]*(?:[-*+>]|\d+[.)])[ \t]+/gm, '')
    .replace(/!?\[([^[\]\n]*)\]\([^()\n]*\)/g, '$1')
    .replace(/[*_`]{1,3}/g, '')
  const segmenter = new Intl.Segmenter(language, { granularity: 'sentence' })
  return prose
    .split(/\n+/)
    .flatMap((line) =>
      [...segmenter.segment(line)]
        .map(({ segment }) => segment.trim())
        .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence)),
    )
}

function termsOf(sentence: string, language: 'zh' | 'en') {
  const segmenter = new Intl.Segmenter(language, { granularity: 'word' })
  return [...segmenter.segment(sentence)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment.toLowerCase())
    .filter((word) => !stopWords[language].has(word))
}

function count(terms: readonly string[]) {
  const frequency: Map<string, number> = new Map()
  for (const term of terms) frequency.set(term, (frequency.get(term) ?? 0) + 1)
  return frequency
}

function score({ place, terms }: { place: number; terms: string[] }, total: number, frequency: Map<string, number>) {
  if (terms.length === 0) return 0
  // A word that occurs once has no weight: it says nothing about the whole text.
  const weight = [...new Set(terms)].reduce((sum, term) => sum + Math.log(frequency.get(term) ?? 1), 0)
  const isEdge = place === 0 ? 1.5 : place < total * 0.1 || place === total - 1 ? 1.2 : 1
  const isShort = terms.length < 4 ? 0.5 : 1
  return (weight / Math.sqrt(terms.length + 8)) * isEdge * isShort
}

/** Returns the share of the shorter sentence's terms that the other sentence contains. */
function overlap(a: string[], b: string[]) {
  const other = new Set(b)
  const shared = new Set(a.filter((term) => other.has(term)))
  return shared.size / Math.max(1, Math.min(new Set(a).size, other.size))
}
