/** What is seen of faults without a `log`: an agent that throws must not look to its author like one that works. */
import type { Log } from '../model/log.js'

/** One line on stderr for each fault; everything else is for a `log` of one's own. */
export const logFaults: Log = ({ level, message, agent, taskId, error }) => {
  if (level !== 'error') return
  const whose = [agent, taskId && `task ${taskId}`].filter(Boolean).join(', ')
  const facts = [`dragoman: ${message}`, whose && ` (${whose})`, error !== undefined && `: ${inOneLine(error)}`]
  console.error(facts.filter(Boolean).join(''))
}

/** With the place where it was thrown. Control characters are data, and must not move a terminal's cursor. */
function inOneLine(error: unknown): string {
  const [, place] = error instanceof Error ? (/^\s+at (.+)$/m.exec(error.stack ?? '') ?? []) : []
  return `${String(error)}${place === undefined ? '' : ` at ${place}`}`.replace(/[\s\p{Cc}]+/gu, ' ')
}
