/** Keeps a number of connections busy and measures the time, and the CPU time of both sides. */
import { readFileSync } from 'node:fs'

export interface Timing {
  readonly seconds: number
  /** CPU time of this process. */
  readonly generatorCpuMicros: number
  /** CPU time of the measured server, user and system; undefined on systems without `/proc`. */
  readonly serverCpuMicros: number | undefined
}

let serverPid: number | undefined

/** Names the server whose CPU time the timers of this process measure. */
export function measureServer(pid: number | undefined): void {
  serverPid = pid
}

/** Linux counts in ticks of 10 ms, which is exact enough for the seconds that a measurement takes. */
function serverCpuMicros(): number | undefined {
  try {
    const stat = readFileSync(`/proc/${serverPid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return undefined
  }
}

export interface Work<T> {
  /** One call on a connection. */
  turn(connection: T): Promise<void>
  isOver(): boolean
}

/**
 * Repeats `turn(connection)` on each connection until `isOver()`, then waits for the calls in progress. The time ends
 * with the last call, so unfinished work is not counted.
 */
export async function keepBusy<T>(connections: readonly T[], { turn, isOver }: Work<T>): Promise<Timing> {
  const stop = startTimer()
  const outcomes = await Promise.allSettled(
    connections.map(async (connection) => {
      while (!isOver()) await turn(connection)
    }),
  )
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return stop()
}

/** Starts to measure time and CPU time; the returned function ends it. */
export function startTimer(): () => Timing {
  const serverBefore = serverCpuMicros()
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  return () => {
    const seconds = (performance.now() - startedAt) / 1000
    const { user, system } = process.cpuUsage(cpuBefore)
    const serverAfter = serverCpuMicros()
    const isKnown = serverBefore !== undefined && serverAfter !== undefined
    return {
      seconds,
      generatorCpuMicros: user + system,
      serverCpuMicros: isKnown ? serverAfter - serverBefore : undefined,
    }
  }
}

export interface OpenOptions<T> {
  open(): T
  /** Maximum time of the work. Default: no limit. */
  readonly timeoutMs?: number | undefined
}

/** Opens `count` connections, or other closable resources, for the duration of `work`. */
export async function withMany<T extends { close(): unknown }, R>(
  count: number,
  { open, timeoutMs }: OpenOptions<T>,
  work: (opened: readonly T[]) => Promise<R>,
): Promise<R> {
  const opened = Array.from({ length: count }, open)
  try {
    return await within(timeoutMs, work(opened))
  } finally {
    await Promise.all(opened.map((each) => each.close()))
  }
}

/** Like `withMany` with one resource. */
export async function withOne<T extends { close(): unknown }, R>(
  opened: T,
  work: (opened: T) => Promise<R>,
): Promise<R> {
  return withMany(1, { open: () => opened }, () => work(opened))
}

/** Fails with the code `NO_ANSWER` when the work takes longer than `timeoutMs`. */
async function within<R>(timeoutMs: number | undefined, work: Promise<R>): Promise<R> {
  if (timeoutMs === undefined) return work
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    const error = new Error(`no answer in ${timeoutMs / 1000} s`)
    timer = setTimeout(() => reject(Object.assign(error, { code: 'NO_ANSWER' })), timeoutMs)
  })
  // After a time-out the work fails when its connections close. That error is expected.
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns a function that is true once `ms` have passed. */
export function after(ms: number): () => boolean {
  const deadline = performance.now() + ms
  return () => performance.now() >= deadline
}
