/**
 * Words of a text in any language. Scripts that put no space between words are cut by the platform's dictionary;
 * everything else at what is neither letter nor digit, which is much faster.
 */
const wordsOfAll = /[\p{L}\p{N}]+/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })

export function tokenize(text: string): string[] {
  const words: string[] = []
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(wordsOfAll)) {
    let end = 0
    for (const { 0: dense, index } of run.matchAll(unspaced)) {
      if (index > end) words.push(run.slice(end, index))
      cut(dense, words)
      end = index + dense.length
    }
    if (end < run.length) words.push(run.slice(end))
  }
  return words
}

/**
 * A dictionary takes 天气预报 for one word, and somebody will look for 预报: longer words are found by every two
 * characters in them, too.
 */
function cut(dense: string, words: string[]): void {
  for (const { segment } of segmenter.segment(dense)) {
    words.push(segment)
    const characters = [...segment]
    if (characters.length > 2)
      for (let place = 0; place + 1 < characters.length; place++)
        words.push(characters.slice(place, place + 2).join(''))
  }
}
