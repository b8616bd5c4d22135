// Tasks with webhooks, and the webhooks: this process is the one that is told, too.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { openConnection } from './connection.mjs'
import { resultOf, v1Call, v1Message } from './dialects.mjs'
import { withMany } from './workers.mjs'

/**
 * Starts `tasks` tasks of `chunks` chunks, each with a webhook here, and waits until every event of
 * every one has arrived, in order.
 *
 * @param {{ origin: string, connections: number, tasks: number, chunks: number, timeoutMs: number }} options
 * @returns {Promise<{ deliveries: number, seconds: number, generatorBusy: number }>}
 */
export async function receiveDeliveries({ origin, connections, tasks, chunks, timeoutMs }) {
  const told = new Map()
  const wanted = tasks * (chunks + 3)
  let deliveries = 0
  let hasAll
  const all = new Promise((resolve, reject) => {
    hasAll = (error) => (error ? reject(error) : resolve())
  })
  const receiver = createServer(async (request, response) => {
    const event = JSON.parse(await textOf(request))
    response.end()
    const wrong = note(told, event)
    if (wrong) hasAll(new Error(wrong))
    deliveries += 1
    if (deliveries === wanted) hasAll()
  })
  const url = await listen(receiver)
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  try {
    await withMany(connections, { open: () => openConnection(origin), timeoutMs }, async (opened) => {
      await startAll(opened, { tasks, text: `chunks ${chunks}`, url })
      await all
    })
  } finally {
    receiver.close()
    receiver.closeAllConnections()
  }
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  return { deliveries, seconds, generatorBusy: (cpu.user + cpu.system) / 1e6 / seconds }
}

/**
 * Makes `tasks` finished tasks whose webhook takes every call and never answers one, for as long as
 * this process lives.
 */
export async function registerDeadWebhooks({ origin, connections, tasks }) {
  const url = await listen(createServer(() => undefined))
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    await startAll(opened, { tasks, text: 'hello', url })
    return { url }
  })
}

async function startAll(connections, { tasks, text, url }) {
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
  let started = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (started++ < tasks) {
        const answer = await connection.call(v1Call('SendMessage', { message: v1Message(text), configuration }))
        resultOf(answer)
      }
    }),
  )
}

/** Each task is told of in order: chunk after chunk, each once. Says what is wrong. */
function note(told, { artifactUpdate }) {
  if (!artifactUpdate) return undefined
  const { taskId, artifact } = artifactUpdate
  const [, number] = /^chunk (\d+) $/.exec(artifact.parts[0].text) ?? []
  const last = told.get(taskId) ?? 0
  if (Number(number) !== last + 1) return `Wanted chunk ${last + 1} of task ${taskId}, got chunk ${number}`
  told.set(taskId, last + 1)
  return undefined
}

async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}/`
}

function textOf(request) {
  return new Promise((resolve, reject) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => resolve(text))
    request.on('error', reject)
  })
}
