// Keeps a number of connections busy and accounts for the time it took.
import { openConnection } from './connection.mjs'

/**
 * Runs `turn(connection)` over and over on each connection until `isOver()`, then lets what is
 * under way finish. The time runs until the last turn has ended, so no half-done work is counted
 * and none is given away.
 *
 * @returns {Promise<{ seconds: number, generatorBusy: number }>}
 */
export async function keepBusy(connections, { turn, isOver }) {
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const outcomes = await Promise.allSettled(
    connections.map(async (connection) => {
      while (!isOver()) await turn(connection)
    }),
  )
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  return { seconds, generatorBusy: (cpu.user + cpu.system) / 1e6 / seconds }
}

/** Opens `count` connections for the length of `work`. */
export async function withConnections(origin, { count, silenceMs }, work) {
  const connections = Array.from({ length: count }, () => openConnection(origin, { silenceMs }))
  try {
    return await work(connections)
  } finally {
    await Promise.all(connections.map((connection) => connection.close()))
  }
}

export function after(ms) {
  const deadline = performance.now() + ms
  return () => performance.now() >= deadline
}
