/** What an examination finds: one line for each check. */
import { onStdout } from '../colours.js'
import { oneLine } from '../printable.js'

/** `note`: neither good nor bad, but worth knowing. `skipped`: nothing was tried, and the finding says why. */
export type Verdict = 'ok' | 'note' | 'warning' | 'problem' | 'skipped'

export interface Finding {
  /** What was looked at, such as `card` or `JSONRPC 1.0`. */
  readonly check: string
  readonly verdict: Verdict
  /** What was seen, and why it is judged so. */
  readonly what: string
  /** What to do about it. */
  readonly advice?: string
}

export type Report = (finding: Finding) => void

/** `unreachable`: nobody answered at all. */
export type Health = 'healthy' | 'problems' | 'unreachable'

export interface Diagnosis {
  readonly health: Health
  readonly findings: readonly Finding[]
}

const colours: Readonly<Record<Verdict, (text: string) => string>> = {
  ok: onStdout.green,
  note: onStdout.cyan,
  warning: onStdout.yellow,
  problem: onStdout.red,
  skipped: onStdout.dim,
}

export function findingText({ check, verdict, what, advice }: Finding): string {
  const hint = advice === undefined ? '' : ` ${onStdout.dim(`→ ${oneLine(advice)}`)}`
  return `${colours[verdict](verdict.padEnd(7))}  ${oneLine(check).padEnd(13)}  ${oneLine(what)}${hint}`
}

export function healthText({ health, findings }: Diagnosis): string {
  const count = (verdict: Verdict, word: string) => {
    const found = findings.filter((finding) => finding.verdict === verdict).length
    return found === 0 ? [] : [`${found} ${word}${found === 1 ? '' : 's'}`]
  }
  const counts = [...count('problem', 'problem'), ...count('warning', 'warning')].join(', ')
  if (health === 'unreachable') return onStdout.red('Unreachable: nobody answers')
  if (health === 'problems') return onStdout.red(`Not healthy: ${counts}`)
  return onStdout.green(`Healthy${counts === '' ? '' : `, ${counts}`}`)
}
