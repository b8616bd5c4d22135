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
 * Dictionaries differ, and cut 互联网 into one word, three, or none that anybody looks for. So every two characters that
 * stand together are words as well, and what the dictionary knows counts twice.
 */
function cut(dense: string, words: string[]): void {
  const characters = [...dense]
  if (characters.length === 1) words.push(dense)
  for (const { segment } of segmenter.segment(dense)) if ([...segment].length > 1) words.push(segment)
  for (let place = 0; place + 1 < characters.length; place++) words.push(characters.slice(place, place + 2).join(''))
}
