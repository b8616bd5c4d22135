import { type Connection, openConnection } from './connection.ts'
import { resultOf, v1Call, v1Message } from './dialects.ts'
import { withMany } from './workers.ts'

export interface CreateOptions {
  readonly origin: string
  readonly connections: number
  readonly count: number
  readonly sleepMs: number
}

/** Starts `count` tasks that only sleep. */
export function createTasks({ origin, connections, count, sleepMs }: CreateOptions): Promise<{ taskIds: string[] }> {
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    const taskIds: string[] = []
    let started = 0
    await Promise.all(
      opened.map(async (connection) => {
        while (started++ < count) {
          const message = v1Message(`sleep ${sleepMs}`)
          const configuration = { returnImmediately: true }
          const { task } = resultOf(await connection.call(v1Call('SendMessage', { message, configuration })))
          if (task?.id === undefined) throw new Error('Expected a task')
          taskIds.push(task.id)
        }
      }),
    )
    return { taskIds }
  })
}

const openSubscriptions = new Set<Connection>()

/** The number of open subscriptions: a server that drops idle subscribers must not look cheap. */
export async function countSubscribers(_options: Record<string, never>): Promise<{ subscribers: number }> {
  return { subscribers: openSubscriptions.size }
}

export interface SubscribeOptions {
  readonly origin: string
  readonly taskIds: readonly string[]
  readonly concurrency: number
}

/** Opens one subscription per task, each on its own connection. They stay open until this process ends. */
export async function openSubscribers({ origin, taskIds, concurrency }: SubscribeOptions) {
  for (let from = 0; from < taskIds.length; from += concurrency) {
    const batch = taskIds.slice(from, from + concurrency)
    await Promise.all(batch.map((id) => subscribe(origin, id)))
  }
  return countSubscribers({})
}

/** Resolves after the snapshot: the server holds the subscription from then on. */
function subscribe(origin: string, id: string): Promise<void> {
  // An idle subscriber receives no data, so it must not time out.
  const connection = openConnection(origin, { silenceMs: 0 })
  return new Promise((resolve, reject) => {
    let text = ''
    const onChunk = (chunk: Buffer) => {
      if (openSubscriptions.has(connection)) return
      text += chunk
      if (!text.includes('\n\n')) return
      if (!text.includes('"task":') || !text.includes(id)) {
        reject(new Error(`Expected a snapshot of task ${id}, got ${text}`))
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
