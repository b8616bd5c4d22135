/**
 * Words of a text in any language. Scripts that put no space between words are cut by the platform's dictionary;
 * everything else at what is neither letter nor digit, which is much faster.
 */
const wordsOfAll = /[\p{L}\p{N}]+/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })
/** Nobody looks for longer words; what is longer is cut there. */
const longestWord = 64
/** The dictionary takes the square of the length of what it is given, and words are much shorter than this. */
const longestRun = 128

/** At most `most` words, from the beginning: nothing behind them is looked at. */
export function tokenize(text: string, most: number): string[] {
  const words: string[] = []
  for (const run of runsOf(text)) {
    if (words.length >= most) break
    if (run.isUnspaced) cut(run.text, words)
    else words.push(run.text.slice(0, longestWord))
  }
  return words.slice(0, most)
}

function* runsOf(text: string): Generator<{ readonly text: string; readonly isUnspaced: boolean }> {
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(wordsOfAll)) {
    let end = 0
    for (const { 0: dense, index } of run.matchAll(unspaced)) {
      if (index > end) yield { text: run.slice(end, index), isUnspaced: false }
      // One character of each piece is also in the next, so that no two that stand together are parted.
      for (let start = 0; start === 0 || start + 1 < dense.length; start += longestRun - 1)
        yield { text: dense.slice(start, start + longestRun), isUnspaced: true }
      end = index + dense.length
    }
    if (end < run.length) yield { text: run.slice(end), isUnspaced: false }
  }
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
