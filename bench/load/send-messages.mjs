import { assertEchoed, nextGreeting } from './messages.mjs'
import { speakerOf } from './speaker.mjs'
import { after, keepBusy, withMany } from './workers.mjs'

/**
 * Blocking sends of small messages, for a time (`durationMs`) or for a number of tasks (`count`).
 *
 * @param {{ origin: string, dialect?: string, isKeptAlive?: boolean, connections: number,
 *   warmUpMs?: number, durationMs?: number, count?: number, timeoutMs?: number,
 *   headers?: Record<string, string> }} options
 */
export async function sendMessages(options) {
  const {
    origin,
    dialect = 'v1',
    isKeptAlive,
    connections,
    warmUpMs = 0,
    durationMs,
    count,
    timeoutMs,
    headers,
  } = options
  const openSpeaker = await speakerOf(dialect)
  const open = () => openSpeaker(origin, { isKeptAlive, headers })
  return withMany(connections, { open, timeoutMs }, async (speakers) => {
    if (warmUpMs > 0) await keepBusy(speakers, { turn: sendOne, isOver: after(warmUpMs) })
    let requests = 0
    const isOver = count === undefined ? after(durationMs) : () => requests >= count
    const turn = (speaker) => {
      requests += 1
      return sendOne(speaker)
    }
    const timing = await keepBusy(speakers, { turn, isOver })
    return { requests, ...timing }
  })
}

async function sendOne(speaker) {
  const text = nextGreeting()
  assertEchoed(await speaker.send(text), text)
}
