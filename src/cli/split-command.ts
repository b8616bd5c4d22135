/**
 * A command line as words: separated by blanks, kept together by quotes, a backslash makes the next character an
 * ordinary one. Nothing else means anything: there is no shell.
 */
export function splitCommand(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let place = 0; place < line.length; place++) {
    const character = line[place] ?? ''
    if (character === quote) quote = ''
    else if (quote === "'") word += character
    else if (character === '\\' && place + 1 < line.length) {
      place += 1
      word = (word ?? '') + line[place]
    } else if (quote !== '') word += character
    else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (!/\s/.test(character)) word = (word ?? '') + character
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  if (quote !== '') throw new SyntaxError(`a ${quote} is never closed`)
  return word === undefined ? words : [...words, word]
}
