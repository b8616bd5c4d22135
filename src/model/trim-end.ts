/**
 * Removes trailing characters in linear time: `trimEnd('a/b//', /\//)` is `a/b`. A regular expression such as `/\/+$/`
 * takes time in proportion to the square of the text's length.
 */
export function trimEnd(text: string, character: RegExp): string {
  let end = text.length
  while (end > 0 && character.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

/** An address or path without slashes at its end. */
export function withoutTrailingSlashes(address: string): string {
  return trimEnd(address, /\//)
}
