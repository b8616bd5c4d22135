/** Latency of a page of a very long list. Filling the stores takes minutes, so this runs only with `--list`. */
import type { Load } from '../load/start-load.ts'
import { type Measurement, withServer } from '../measurement.ts'
import { median as medianOf } from '../report/summarise.ts'
import { copyTasks, newDatabase, stopPostgres } from '../servers/postgres.ts'
import { type TargetName, targets } from '../servers/targets.ts'
import { defineQuestion, type Entry } from './question.ts'

const connections = 32
const repeats = 200
const budgetedTasks = 1_000_000
/** On Postgres the other tasks are copies of these: a million sends would take hours. */
const tasksSentToPostgres = 1_000

interface ListSettings {
  readonly tasks: number
  readonly depth: number
  readonly repeats: number
}

export const list = defineQuestion({
  name: 'list',
  title: 'ListTasks, pages of 50, one caller',
  rounds: { full: 1, quick: 1 },
  isLong: true,
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
    entry('dragoman-sqlite', settings, () => withServer('dragoman-sqlite', {}, (each) => measureSent(each, settings))),
    entry('dragoman-postgres', settings, async () => {
      const database = await newDatabase()
      return await withServer('dragoman-postgres', { database }, (each) => measureCopied(each, database, settings))
    }),
  ],
  budgets: ({ median }, { tasks }) =>
    (['dragoman-sqlite', 'dragoman-postgres'] as const).flatMap((server) => {
      // A fast short list proves nothing about a long one.
      const time = (key: string) => (tasks === budgetedTasks ? median(server, key) : Number.NaN)
      const of = `at ${budgetedTasks.toLocaleString('en')} tasks, ${targets[server].title}`
      return [
        { what: `a page of ListTasks ${of}`, value: time('nextPageMs'), below: 10, unit: ' ms' },
        { what: `a page deep in the list ${of}`, value: time('deepPageMs'), below: 10, unit: ' ms' },
        { what: `the first page, with the exact total, ${of}`, value: time('firstPageMs'), below: 100, unit: ' ms' },
      ]
    }),
  finish: stopPostgres,
})

function entry(server: TargetName, { tasks }: ListSettings, measure: Entry['measure']): Entry {
  return { id: server, server, title: `${targets[server].title}: ${tasks.toLocaleString('en')} tasks`, measure }
}

async function measureSent({ server: { origin }, load }: Measurement, settings: ListSettings) {
  const filled = await load.run('sendMessages', { origin, connections, count: settings.tasks })
  return await measurePages({ origin, load, fillSeconds: filled.seconds }, { ...settings, tasks: filled.requests })
}

async function measureCopied({ server: { origin }, load }: Measurement, database: string, settings: ListSettings) {
  const startedAt = performance.now()
  await load.run('sendMessages', { origin, connections, count: tasksSentToPostgres })
  await copyTasks(database, settings.tasks)
  return await measurePages({ origin, load, fillSeconds: (performance.now() - startedAt) / 1000 }, settings)
}

interface FilledServer {
  readonly origin: string
  readonly load: Load
  readonly fillSeconds: number
}

async function measurePages({ origin, load, fillSeconds }: FilledServer, { tasks, depth, repeats }: ListSettings) {
  const times = await load.run('callList', { origin, repeats, depth, expectedTotal: tasks })
  return {
    nextPageMs: medianOf(times.nextPageMs),
    deepPageMs: medianOf(times.deepPageMs),
    firstPageMs: medianOf(times.firstPageMs),
    slowestMs: Math.max(...times.nextPageMs, ...times.firstPageMs, ...times.deepPageMs),
    fillSeconds,
  }
}
