/** Memory of an idle subscriber. */
import { startLoad } from '../load/start-load.ts'
import { withServer } from '../measurement.ts'
import type { TargetName } from '../servers/targets.ts'
import { defineQuestion } from './question.ts'

const connections = 32
const concurrency = 100
const servers = ['dragoman-memory', 'bare'] as const
/** Longer than the round. */
const sleepMs = 10 * 60_000
const kilobyte = 1024

export const idle = defineQuestion({
  name: 'idle',
  title: 'Idle subscribers, one SSE connection and one sleeping task each',
  rounds: { full: 3, quick: 1 },
  isLong: true,
  columns: [
    { key: 'rssKb', title: 'RSS per subscriber, KB', digits: 1 },
    { key: 'heapKb', title: 'JS heap per subscriber, KB', digits: 1 },
  ],
  settings: ({ isQuick }) => ({ connections, subscribers: isQuick ? 1_000 : 5_000 }),
  entries: ({ subscribers }) =>
    servers.map((server) => ({
      id: server,
      server,
      measure: () => measure(server, subscribers),
    })),
  budgets: ({ median }, { subscribers }) => [
    {
      what: `JS heap per idle subscriber, ${subscribers.toLocaleString('en')} on one process`,
      value: median('dragoman-memory', 'heapKb'),
      below: 15,
      unit: ' KB',
    },
    {
      what: 'RSS per idle subscriber against bare `node:http`',
      value: median('dragoman-memory', 'rssKb') / median('bare', 'rssKb'),
      atMost: 1.6,
      unit: '×',
    },
  ],
})

/** The tasks exist before the first reading: the question is about subscribers, not about tasks. */
function measure(target: TargetName, subscribers: number) {
  return withServer(target, { hasProbe: true }, async ({ server, load }) => {
    const { origin } = server
    const { taskIds } = await load.run('createTasks', {
      origin,
      connections,
      count: subscribers,
      sleepMs,
    })
    await subscribeAndLeave(origin, taskIds.slice(0, 500))
    const before = await server.memory()
    await load.run('openSubscribers', { origin, taskIds, concurrency })
    const after = await server.memory()
    const stillOpen = await load.run('countSubscribers', {})
    if (stillOpen.subscribers !== subscribers) {
      throw new Error(`Only ${stillOpen.subscribers} of ${subscribers} subscriptions stayed open`)
    }
    return {
      rssKb: (after.rss - before.rss) / subscribers / kilobyte,
      heapKb: (after.heapUsed - before.heapUsed) / subscribers / kilobyte,
    }
  })
}

/** Warm-up in another process. Its connections close when the process ends. */
async function subscribeAndLeave(origin: string, taskIds: readonly string[]): Promise<void> {
  const load = startLoad()
  try {
    await load.run('openSubscribers', { origin, taskIds, concurrency })
  } finally {
    await load.stop()
  }
}
