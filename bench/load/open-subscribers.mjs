import { openConnection } from './connection.mjs'
import { resultOf, v1Call, v1Message } from './dialects.mjs'
import { withMany } from './workers.mjs'

/**
 * Starts `count` tasks that only sleep.
 *
 * @returns {Promise<{ taskIds: string[] }>}
 */
export function createTasks({ origin, connections, count, sleepMs }) {
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    const taskIds = []
    let started = 0
    await Promise.all(
      opened.map(async (connection) => {
        while (started++ < count) {
          const message = v1Message(`sleep ${sleepMs}`)
          const configuration = { returnImmediately: true }
          const answer = await connection.call(v1Call('SendMessage', { message, configuration }))
          taskIds.push(resultOf(answer).task.id)
        }
      }),
    )
    return { taskIds }
  })
}

const openSubscriptions = new Set()

/** How many are still open; a server that drops idle readers must not look cheap. */
export async function countSubscribers() {
  return { subscribers: openSubscriptions.size }
}

/**
 * Opens one subscription per task, each on a connection of its own, a few at a time. They stay
 * open until this process ends.
 *
 * @param {{ origin: string, taskIds: string[], atOnce: number }} options
 */
export async function openSubscribers({ origin, taskIds, atOnce }) {
  for (let from = 0; from < taskIds.length; from += atOnce) {
    const batch = taskIds.slice(from, from + atOnce)
    await Promise.all(batch.map((id) => subscribe(origin, id)))
  }
  return countSubscribers()
}

/** Resolves when the snapshot has come: the server holds the subscription from then on. */
function subscribe(origin, id) {
  // Silence is what an idle subscriber is about, so it never times out.
  const connection = openConnection(origin, { silenceMs: 0 })
  return new Promise((resolve, reject) => {
    let text = ''
    const onChunk = (chunk) => {
      if (openSubscriptions.has(connection)) return
      text += chunk
      if (!text.includes('\n\n')) return
      if (!text.includes('"task":') || !text.includes(id)) {
        reject(new Error(`Wanted a snapshot of task ${id}, got ${text}`))
      }
      openSubscriptions.add(connection)
      resolve()
    }
    const onEnd = () => {
      openSubscriptions.delete(connection)
      reject(new Error(`The subscription to task ${id} ended`))
    }
    connection.stream(v1Call('SubscribeToTask', { id }), onChunk).then(onEnd, onEnd)
  })
}
