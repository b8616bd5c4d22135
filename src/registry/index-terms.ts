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
