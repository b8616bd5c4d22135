import { assertEchoed, nextGreeting } from './messages.mjs'
import { after, keepBusy, withConnections } from './workers.mjs'

/**
 * Blocking sends of small messages, for a time (`durationMs`) or for a number of tasks (`count`).
 *
 * @param {{ origin: string, connections: number, warmUpMs?: number,
 *   durationMs?: number, count?: number }} options
 */
export function sendMessages({ origin, connections, warmUpMs = 0, durationMs, count }) {
  return withConnections(origin, { count: connections }, async (opened) => {
    if (warmUpMs > 0) await keepBusy(opened, { turn: sendOne, isOver: after(warmUpMs) })
    let requests = 0
    const isOver = count === undefined ? after(durationMs) : () => requests >= count
    const turn = (connection) => {
      requests += 1
      return sendOne(connection)
    }
    const timing = await keepBusy(opened, { turn, isOver })
    return { requests, ...timing }
  })
}

async function sendOne(connection) {
  const message = nextGreeting()
  assertEchoed(await connection.call('SendMessage', { message }), message)
}
