/** Runs the scripts in their shells, if those are installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../main.js'
import { completionScript, type shells } from './completion.js'

type Shell = (typeof shells)[number]

const has = (shell: Shell) => spawnSync(shell, ['--version']).status === 0

/** Returns the completions that the shell offers for a line. */
const complete: Readonly<Record<Shell, (script: string, line: string) => string>> = {
  bash: (script, line) =>
    execFileSync('bash', [
      '-c',
      `${script}
      COMP_WORDS=(${wordsOf(line)}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _dragoman; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]).toString(),
  // Records the candidates that the completion system of a shell would show.
  zsh: (script, line) =>
    execFileSync('zsh', [
      '-f',
      '-c',
      `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; _files() { :; }; _describe() { print -l -- "\${(@P)2}"; }
      ${script}
      words=(${wordsOf(line)}); CURRENT=\${#words}; _dragoman`,
    ]).toString(),
  fish: (script, line) => execFileSync('fish', ['-N', '-c', `${script}\ncomplete -C '${line}'`]).toString(),
}

function wordsOf(line: string): string {
  return line
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ')
}

const program = await createProgram('text')

describe.each<Shell>(['bash', 'zsh', 'fish'])('completion in %s', (shell) => {
  const script = completionScript(program, shell)

  it.skipIf(!has(shell)).each<[string, readonly string[], readonly string[]]>([
    ['dragoman ', ['task', 'send', 'serve'], ['get']],
    ['dragoman task ', ['get', 'subscribe'], ['send', 'serve']],
    ['dragoman serve --card ', ['hybrid'], ['task']],
    ['dragoman task get -o ', ['json'], ['get']],
    ['dragoman task --agent get ', ['subscribe'], ['json']],
    ['dragoman completion ', ['zsh'], ['task']],
  ])('offers for `%s` what belongs there', (line, offered, others) => {
    const words = complete[shell](script, line)
      .split('\n')
      .map((each) => each.split(/[:\t]/)[0])
    expect(words).toEqual(expect.arrayContaining([...offered]))
    for (const other of others) expect(words).not.toContain(other)
  })

  it('contains every command', () => {
    for (const word of ['auth', 'card', 'doctor', 'subscribe', '--binding'])
      expect(script).toContain(word.replace('--', ''))
  })
})
