// How long does a caller wait for a page of a very long list? Filling the stores takes minutes, so
// this question is asked only with `--list`.
import { bout } from '../bout.mjs'
import { median as medianOf } from '../report/summarise.mjs'
import { contestants } from '../servers/contestants.mjs'
import { copyTasks, newDatabase, stopPostgres } from '../servers/postgres.mjs'

const connections = 32
const repeats = 200
const budgetedTasks = 1_000_000
/** On Postgres most tasks are copies of these: sending a million takes it longer than anybody waits. */
const tasksSentToPostgres = 1_000

export const list = {
  name: 'list',
  title: 'ListTasks, pages of 50, one caller',
  rounds: { full: 1, quick: 1 },
  columns: [
    { key: 'nextPageMs', title: 'a following page, ms', digits: 2 },
    { key: 'deepPageMs', title: 'a page deep in the list, ms', digits: 2 },
    { key: 'firstPageMs', title: 'first page with exact total, ms', digits: 2 },
    { key: 'slowestMs', title: 'slowest page, ms', digits: 2 },
    { key: 'fillSeconds', title: 'filling, s' },
  ],
  settings: ({ isQuick }) => ({
    tasks: isQuick ? 20_000 : budgetedTasks,
    depth: isQuick ? 5_000 : 200_000,
    repeats: isQuick ? repeats / 4 : repeats,
  }),
  entries: (settings) => [
    entry('dragoman-sqlite', settings, () => bout('dragoman-sqlite', {}, (sides) => measureSent(sides, settings))),
    entry('dragoman-postgres', settings, async () => {
      const database = await newDatabase()
      return await bout('dragoman-postgres', { database }, (sides) => measureCopied(sides, database, settings))
    }),
  ],
  budgets: (median, { tasks }) =>
    ['dragoman-sqlite', 'dragoman-postgres'].flatMap((server) => {
      // A short list that is quick proves nothing about a long one.
      const time = (key) => (tasks === budgetedTasks ? median(server, key) : Number.NaN)
      const of = `at ${budgetedTasks.toLocaleString('en')} tasks, ${contestants[server].title}`
      return [
        { what: `a page of ListTasks ${of}`, value: time('nextPageMs'), below: 10, unit: ' ms' },
        { what: `a page deep in the list ${of}`, value: time('deepPageMs'), below: 10, unit: ' ms' },
        { what: `the first page, with the exact total, ${of}`, value: time('firstPageMs'), below: 100, unit: ' ms' },
      ]
    }),
  finish: stopPostgres,
}

function entry(server, { tasks }, measure) {
  return { id: server, server, title: `${contestants[server].title}: ${tasks.toLocaleString('en')} tasks`, measure }
}

async function measureSent({ server: { origin }, load }, settings) {
  const filled = await load.run('sendMessages', { origin, connections, count: settings.tasks })
  return await measurePages({ origin, load, fillSeconds: filled.seconds }, { ...settings, tasks: filled.requests })
}

async function measureCopied({ server: { origin }, load }, database, settings) {
  const startedAt = performance.now()
  await load.run('sendMessages', { origin, connections, count: tasksSentToPostgres })
  await copyTasks(database, settings.tasks)
  return await measurePages({ origin, load, fillSeconds: (performance.now() - startedAt) / 1000 }, settings)
}

async function measurePages({ origin, load, fillSeconds }, { tasks, depth, repeats }) {
  const times = await load.run('callList', { origin, repeats, depth, expectedTotal: tasks })
  return {
    nextPageMs: medianOf(times.nextPageMs),
    deepPageMs: medianOf(times.deepPageMs),
    firstPageMs: medianOf(times.firstPageMs),
    slowestMs: Math.max(...times.nextPageMs, ...times.firstPageMs, ...times.deepPageMs),
    fillSeconds,
  }
}
