// Keeps a number of connections busy and accounts for the time it took.

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

/**
 * Opens `count` connections, or whatever else can be closed, for the length of `work`.
 *
 * @param {number} count
 * @param {{ open(): { close(): unknown }, timeoutMs?: number }} options how long the work may take
 */
export async function withMany(count, { open, timeoutMs }, work) {
  const opened = Array.from({ length: count }, open)
  try {
    return await within(timeoutMs, work(opened))
  } finally {
    await Promise.all(opened.map((each) => each.close()))
  }
}

/** Fails with the code `NO_ANSWER` when the work takes longer than it may. */
async function within(timeoutMs, work) {
  if (timeoutMs === undefined) return work
  let timer
  const timeout = new Promise((_resolve, reject) => {
    const error = new Error(`no answer in ${timeoutMs / 1000} s`)
    timer = setTimeout(() => reject(Object.assign(error, { code: 'NO_ANSWER' })), timeoutMs)
  })
  // The loser of the race fails later, when its connections are closed; nobody waits for it then.
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

export function after(ms) {
  const deadline = performance.now() + ms
  return () => performance.now() >= deadline
}
