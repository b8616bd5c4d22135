/**
 * Parser for NOTIFY payloads. Every login of the database can send them, so the parser accepts any text, never
 * throws, and skips words that it does not recognise. All members of a notice are hints: readers check the database.
 */

export interface Notice {
  /** The process that sent it; `-` when a function in the database did. */
  readonly sender: string
  /** Sent by a process that checks whether it receives its own notices. */
  readonly isEcho: boolean
  /** Claimed last sequences, by task token. */
  readonly tasks: ReadonlyMap<string, number>
  /** Numbers of agents that have tasks to run. */
  readonly runnable: ReadonlySet<number>
  /** Numbers of agents that have webhooks to call. */
  readonly cursors: ReadonlySet<number>
  /** Collections of records. */
  readonly collections: ReadonlySet<string>
}

/** Postgres limits a payload to this length in its default build. */
const maxPayloadLength = 8_000

export function parseNotice(payload: string): Notice | undefined {
  if (payload.length > maxPayloadLength) return undefined
  const [sender = '', ...words] = payload.split(' ')
  const tasks = new Map<string, number>()
  const runnable = new Set<number>()
  const cursors = new Set<number>()
  const collections = new Set<string>()
  let isEcho = false
  // A payload may repeat a word thousands of times: each target is woken once per notice.
  for (const word of words) {
    if (word === 'e') isEcho = true
    else if (/^t[0-9a-f]{16}\.\d{1,15}$/.test(word)) {
      const [token = '', seq] = word.split('.')
      tasks.set(token, Math.max(tasks.get(token) ?? 0, Number(seq)))
    } else if (/^r\d{1,10}$/.test(word)) runnable.add(Number(word.slice(1)))
    else if (/^l\d{1,10}$/.test(word)) cursors.add(Number(word.slice(1)))
    else if (word.startsWith('c')) {
      const name = decodeName(word.slice(1))
      if (name !== undefined) collections.add(name)
    }
  }
  return { sender, isEcho, tasks, runnable, cursors, collections }
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // an incomplete or invalid escape such as `%` or `%ff`
  }
}
