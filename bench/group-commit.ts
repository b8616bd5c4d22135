/**
 * Simulates group commits of `src/stores/postgres/append.ts` in several replicas: the size of the groups, and the time
 * that a step waits for its commit. Steps that arrive while two groups of a replica are in progress go into its next
 * group. Commits that wait for the disk at the same moment share a flush. Commits with NOTIFY do not: Postgres makes
 * them hold a lock, so they flush one at a time.
 *
 * Run: npx tsc -p bench && node dist-bench/group-commit.js
 */

const maxGroups = 2
const maxGroupSize = 500
const steps = 60_000

export interface Simulation {
  /** Steps of all replicas together; they arrive at random. */
  readonly perSecond: number
  readonly replicas: number
  /** Cores of the database. A group of n steps takes n × `stepMs` of one core. */
  readonly cores: number
  readonly stepMs: number
  /** Network time from a replica to the database and back. */
  readonly roundTripMs: number
  readonly flushMs: number
  /** Whether each commit notifies other replicas, and therefore flushes alone. */
  readonly hasNotify: boolean
}

interface Replica {
  readonly arrivals: number[]
  next: number
  /** For each group that may be in progress: when it ends. */
  readonly freeAt: number[]
}

/** Returns the mean group size, and the median and p99 of the time from a step's arrival to its commit. */
export function simulate(simulation: Simulation): { group: number; p50Ms: number; p99Ms: number } {
  const { perSecond, replicas: count, cores, roundTripMs, stepMs, flushMs, hasNotify } = simulation
  const random = seededRandom(7)
  const replicas = Array.from(
    { length: count },
    (): Replica => ({ arrivals: [], next: 0, freeAt: Array<number>(maxGroups).fill(0) }),
  )
  for (let made = 0, time = 0; made < steps; made++) {
    time += (-Math.log(1 - random()) / perSecond) * 1000
    replicas[Math.floor(random() * count)]?.arrivals.push(time)
  }
  const coreFreeAt = Array<number>(cores).fill(0)
  let flushStart = Number.NEGATIVE_INFINITY
  let groups = 0
  const waits: number[] = []
  for (;;) {
    const replica = earliest(replicas)
    if (!replica) break
    const start = nextStart(replica)
    const first = replica.next
    const { arrivals, freeAt } = replica
    while (arrivalOf(replica) <= start && replica.next - first < maxGroupSize) replica.next += 1
    const worked = Math.max(Math.min(...coreFreeAt), start + roundTripMs / 2) + (replica.next - first) * stepMs
    replaceSmallest(coreFreeAt, worked)
    if (hasNotify || worked > flushStart) flushStart = Math.max(worked, flushStart + flushMs)
    const done = flushStart + flushMs + roundTripMs / 2
    replaceSmallest(freeAt, done)
    for (const arrival of arrivals.slice(first, replica.next)) waits.push(done - arrival)
    groups += 1
  }
  waits.sort((a, b) => a - b)
  const percentile = (part: number) => waits[Math.floor((waits.length - 1) * part)] ?? Number.NaN
  return { group: steps / groups, p50Ms: percentile(0.5), p99Ms: percentile(0.99) }
}

/** The replica whose next group starts first. */
function earliest(replicas: readonly Replica[]): Replica | undefined {
  let first: Replica | undefined
  for (const replica of replicas) {
    if (replica.next >= replica.arrivals.length) continue
    if (!first || nextStart(replica) < nextStart(first)) first = replica
  }
  return first
}

function nextStart(replica: Replica): number {
  return Math.max(arrivalOf(replica), Math.min(...replica.freeAt))
}

/** Arrival of the next step; infinity after the last one. */
function arrivalOf({ arrivals, next }: Replica): number {
  return arrivals[next] ?? Number.POSITIVE_INFINITY
}

function replaceSmallest(times: number[], time: number): void {
  times[times.indexOf(Math.min(...times))] = time
}

/** The same sequence in every run. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const database = { cores: 16, stepMs: 0.1 }
const cases = [
  { title: 'near, a flush of 0.4 ms', roundTripMs: 0.4, flushMs: 0.4 },
  { title: 'near, a flush of 2 ms', roundTripMs: 0.4, flushMs: 2 },
  { title: 'in another zone, a flush of 0.4 ms', roundTripMs: 4, flushMs: 0.4 },
]
const loads: readonly (readonly [replicas: number, perSecond: number])[] = [
  [1, 1000],
  [4, 5000],
  [16, 5000],
  [16, 50_000],
  [64, 50_000],
  [64, 100_000],
]

/** The tables that `docs/decisions/0006-scaling-beyond-one-database.md` shows. */
export function report(): string {
  const lines = [`A database of ${database.cores} cores, ${database.stepMs} ms a step.`]
  for (const { title, ...latency } of cases) {
    lines.push('', `${title}:`, row(['', '', 'without', 'NOTIFY', '', 'with', 'NOTIFY', '']))
    lines.push(row(['replicas', 'steps/s', 'group', 'p50 ms', 'p99 ms', 'group', 'p50 ms', 'p99 ms']))
    for (const [replicas, perSecond] of loads) {
      const figures = [false, true].flatMap((hasNotify) => {
        const { group, p50Ms, p99Ms } = simulate({ replicas, perSecond, hasNotify, ...database, ...latency })
        return [group, p50Ms, p99Ms].map((figure) => figure.toFixed(1))
      })
      lines.push(row([replicas, perSecond, ...figures]))
    }
  }
  return lines.join('\n')
}

function row(cells: readonly (string | number)[]): string {
  return cells
    .map((cell) => String(cell).padStart(9))
    .join('')
    .trimEnd()
}

if (import.meta.filename === process.argv[1]) console.log(report())
