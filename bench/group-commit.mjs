// How large do groups of appends become, and how long does a step wait for its commit? A simulation of
// `src/stores/postgres/append.ts` in several replicas: what is asked for while two groups of a replica are under way
// goes into its next one. Commits that wait for the disk at the same moment share a flush, unless they tell other
// replicas (NOTIFY): those pass one at a time, because Postgres has them hold a lock.
// Run: node bench/group-commit.mjs

const mostGroups = 2
const largestGroup = 500
const steps = 60_000

/**
 * Steps arrive by chance, `perSecond` of them, at all replicas alike. A group of n takes `wayMs` for the way there and
 * back, n × `stepMs` of one of the database's cores, and a flush of `flushMs`: alone when it `isTelling`, otherwise with all
 * that wait for the same one. Answers what a step sees.
 *
 * @param {{ perSecond: number, replicas: number, cores: number, wayMs: number, stepMs: number, flushMs: number,
 *   isTelling: boolean }} of
 */
export function simulate({ perSecond, replicas, cores, wayMs, stepMs, flushMs, isTelling }) {
  const random = seeded(7)
  const queues = Array.from({ length: replicas }, () => ({ arrivals: [], next: 0, free: Array(mostGroups).fill(0) }))
  for (let count = 0, at = 0; count < steps; count++) {
    at += (-Math.log(1 - random()) / perSecond) * 1000
    queues[Math.floor(random() * replicas)].arrivals.push(at)
  }
  const coreFree = Array(cores).fill(0)
  let flushBegins = Number.NEGATIVE_INFINITY
  let groups = 0
  const waits = []
  for (;;) {
    const queue = earliest(queues)
    if (!queue) break
    const begun = beginOf(queue)
    const first = queue.next
    const { arrivals, free } = queue
    while (arrivals[queue.next] <= begun && queue.next - first < largestGroup) queue.next += 1
    const core = leastOf(coreFree)
    const worked = Math.max(coreFree[core], begun + wayMs / 2) + (queue.next - first) * stepMs
    coreFree[core] = worked
    if (isTelling || worked > flushBegins) flushBegins = Math.max(worked, flushBegins + flushMs)
    const done = flushBegins + flushMs + wayMs / 2
    free[leastOf(free)] = done
    for (let place = first; place < queue.next; place++) waits.push(done - arrivals[place])
    groups += 1
  }
  waits.sort((a, b) => a - b)
  const at = (part) => waits[Math.floor((waits.length - 1) * part)]
  return { group: steps / groups, p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** The replica whose next group begins first. */
function earliest(queues) {
  let first
  for (const queue of queues) {
    if (queue.next < queue.arrivals.length && (!first || beginOf(queue) < beginOf(first))) first = queue
  }
  return first
}

function beginOf({ arrivals, next, free }) {
  return Math.max(arrivals[next], Math.min(...free))
}

function leastOf(times) {
  return times.indexOf(Math.min(...times))
}

/** The same chances in every run. */
function seeded(seed) {
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
  { title: 'near, a flush of 0.4 ms', wayMs: 0.4, flushMs: 0.4 },
  { title: 'near, a flush of 2 ms', wayMs: 0.4, flushMs: 2 },
  { title: 'in another zone, a flush of 0.4 ms', wayMs: 4, flushMs: 0.4 },
]

export function report() {
  const lines = [`A database of ${database.cores} cores, ${database.stepMs} ms a step.`]
  for (const { title, ...place } of cases) {
    lines.push('', `${title}:`, row(['', '', 'telling', 'apart', '', 'with', 'NOTIFY', '']))
    lines.push(row(['replicas', 'steps/s', 'group', 'p50 ms', 'p99 ms', 'group', 'p50 ms', 'p99 ms']))
    for (const [replicas, perSecond] of loads) {
      const figures = [false, true].flatMap((isTelling) => {
        const { group, p50Ms, p99Ms } = simulate({ replicas, perSecond, isTelling, ...database, ...place })
        return [group, p50Ms, p99Ms].map((figure) => figure.toFixed(1))
      })
      lines.push(row([replicas, perSecond, ...figures]))
    }
  }
  return lines.join('\n')
}

const loads = [
  [1, 1000],
  [4, 5000],
  [16, 5000],
  [16, 50_000],
  [64, 50_000],
  [64, 100_000],
]

function row(cells) {
  return cells
    .map((cell) => String(cell).padStart(9))
    .join('')
    .trimEnd()
}

if (import.meta.filename === process.argv[1]) console.log(report())
