import { describe, expect, it } from 'vitest'
import { splitCommand } from './exec-agent.js'

describe('splitCommand', () => {
  it.each<[line: string, words: readonly string[]]>([
    ['', []],
    ['   ', []],
    ['cat', ['cat']],
    ['  tr  a-z\tA-Z ', ['tr', 'a-z', 'A-Z']],
    [`say "two words" 'and three more'`, ['say', 'two words', 'and three more']],
    [`a""b ''`, ['ab', '']],
    [`"it's" 'say "hi"'`, ["it's", 'say "hi"']],
    ['a\\ b \\"c\\" "d\\"e"', ['a b', '"c"', 'd"e']],
    [`'no \\ escape'`, ['no \\ escape']],
    ['echo $HOME; ls * | wc', ['echo', '$HOME;', 'ls', '*', '|', 'wc']],
    ['end\\', ['end\\']],
  ])('%j is %j', (line, words) => {
    expect(splitCommand(line)).toEqual(words)
  })

  it.each([`cat 'x`, 'cat "x', `"it's`])('rejects %j, which has no closing quote', (line) => {
    expect(() => splitCommand(line)).toThrow(/missing closing/)
  })
})
