// How long does a caller wait for a page of a very long list? Filling the store takes minutes, so
// this question is asked only with `--list`.
import { bout } from '../bout.mjs'
import { median as medianOf } from '../report/summarise.mjs'
import { contestants } from '../servers/contestants.mjs'

const connections = 32
const repeats = 200
const budgetedTasks = 1_000_000

export const list = {
  name: 'list',
  title: 'ListTasks, pages of 50, one caller',
  rounds: { full: 1, quick: 1 },
  columns: [
    { key: 'nextPageMs', title: 'a following page, ms', digits: 2 },
    { key: 'firstPageMs', title: 'first page with exact total, ms', digits: 2 },
    { key: 'slowestMs', title: 'slowest page, ms', digits: 2 },
    { key: 'fillSeconds', title: 'filling, s' },
  ],
  settings: ({ isQuick }) => ({ tasks: isQuick ? 20_000 : budgetedTasks, repeats }),
  entries: ({ tasks }) => [
    {
      id: 'dragoman-sqlite',
      server: 'dragoman-sqlite',
      title: `${contestants['dragoman-sqlite'].title}: ${tasks.toLocaleString('en')} tasks`,
      measure: () => measure(tasks),
    },
  ],
  budgets: (median, { tasks }) => {
    // A short list that is quick proves nothing about a long one.
    const time = (key) => (tasks === budgetedTasks ? median('dragoman-sqlite', key) : Number.NaN)
    const count = budgetedTasks.toLocaleString('en')
    return [
      { what: `a page of ListTasks at ${count} tasks`, value: time('nextPageMs'), below: 10, unit: ' ms' },
      { what: 'the first page, with the exact total', value: time('firstPageMs'), below: 100, unit: ' ms' },
    ]
  },
}

function measure(tasks) {
  return bout('dragoman-sqlite', {}, async ({ server, load }) => {
    const { origin } = server
    const filled = await load.run('sendMessages', { origin, connections, count: tasks })
    const times = await load.run('callList', { origin, repeats, expectedTotal: filled.requests })
    return {
      nextPageMs: medianOf(times.nextPageMs),
      firstPageMs: medianOf(times.firstPageMs),
      slowestMs: Math.max(...times.nextPageMs, ...times.firstPageMs),
      fillSeconds: filled.seconds,
    }
  })
}
