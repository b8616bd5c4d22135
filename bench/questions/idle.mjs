// What does a subscriber cost to whom nothing happens?
import { bout } from '../bout.mjs'
import { startLoad } from '../load/start-load.mjs'

const connections = 32
const atOnce = 100
/** Outlasts the round; the server is ended long before. */
const sleepMs = 10 * 60_000
const kilobyte = 1024

export const idle = {
  name: 'idle',
  title: 'Idle subscribers, one SSE connection and one sleeping task each',
  rounds: { full: 3, quick: 1 },
  columns: [
    { key: 'rssKb', title: 'RSS per subscriber, KB', digits: 1 },
    { key: 'heapKb', title: 'JS heap per subscriber, KB', digits: 1 },
  ],
  settings: ({ isQuick }) => ({ connections, subscribers: isQuick ? 1_000 : 5_000 }),
  entries: ({ subscribers }) =>
    ['dragoman-memory', 'bare'].map((server) => ({
      id: server,
      server,
      measure: () => measure(server, subscribers),
    })),
  budgets: (median, { subscribers }) => [
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
}

/** The tasks exist before the first reading: the question is about subscribers, not about tasks. */
function measure(contestant, subscribers) {
  return bout(contestant, { hasProbe: true }, async ({ server, load }) => {
    const { origin } = server
    const { taskIds } = await load.run('createTasks', {
      origin,
      connections,
      count: subscribers,
      sleepMs,
    })
    await subscribeAndLeave(origin, taskIds.slice(0, 500))
    const before = await server.memory()
    await load.run('openSubscribers', { origin, taskIds, atOnce })
    const after = await server.memory()
    const stillOpen = await load.run('countSubscribers')
    if (stillOpen.subscribers !== subscribers) {
      throw new Error(`Only ${stillOpen.subscribers} of ${subscribers} subscribers stayed`)
    }
    return {
      rssKb: (after.rss - before.rss) / subscribers / kilobyte,
      heapKb: (after.heapUsed - before.heapUsed) / subscribers / kilobyte,
    }
  })
}

/** A warm-up by another process, which takes its connections with it when it goes. */
async function subscribeAndLeave(origin, taskIds) {
  const load = startLoad()
  try {
    await load.run('openSubscribers', { origin, taskIds, atOnce })
  } finally {
    await load.stop()
  }
}
