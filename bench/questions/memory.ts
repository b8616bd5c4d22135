/** Memory that a server keeps for finished tasks. */
import { withServer } from '../measurement.ts'
import { type TargetName, targets } from '../servers/targets.ts'
import { defineQuestion } from './question.ts'

const connections = 32
const budgetedCount = 100_000
const megabyte = 1024 * 1024

export const memory = defineQuestion({
  name: 'memory',
  title: 'Memory kept after finished tasks, garbage collected before each reading',
  rounds: { full: 3, quick: 1 },
  isLong: true,
  columns: [
    { key: 'rssGrowthMb', title: 'RSS growth, MB', digits: 1 },
    { key: 'heapGrowthMb', title: 'JS heap growth, MB', digits: 1 },
    { key: 'rssGrowthBeforeGcMb', title: 'RSS growth before collecting, MB', digits: 1 },
    { key: 'heapGrowthFullMb', title: 'JS heap growth at full count, MB', digits: 1 },
  ],
  settings: ({ isQuick }) => ({
    connections,
    fullCount: isQuick ? 20_000 : budgetedCount,
    // Enough to have compiled the code and grown the young generation before the first reading.
    warmUpCount: 5_000,
    sdkCount: isQuick ? 4_000 : 20_000,
  }),
  entries: (settings) => [
    {
      id: 'dragoman-sqlite',
      server: 'dragoman-sqlite',
      title: entryTitle('dragoman-sqlite', settings.fullCount),
      measure: () => measure('dragoman-sqlite', settings, settings.fullCount),
    },
    {
      id: 'sdk-memory',
      server: 'sdk-memory',
      title: `${entryTitle('sdk-memory', settings.sdkCount)}; full count extrapolated`,
      measure: () => measure('sdk-memory', settings, settings.sdkCount),
    },
  ],
  budgets: ({ median }, { fullCount }) => [
    {
      what: `${budgetedCount.toLocaleString('en')} finished tasks on SQLite, resident growth`,
      // The budget holds for the full count only.
      value: fullCount === budgetedCount ? median('dragoman-sqlite', 'rssGrowthMb') : Number.NaN,
      below: 50,
      unit: ' MB',
    },
  ],
})

function entryTitle(server: TargetName, count: number): string {
  return `${targets[server].title}: ${count.toLocaleString('en')} tasks`
}

interface Counts {
  readonly warmUpCount: number
  readonly fullCount: number
}

function measure(target: TargetName, { warmUpCount, fullCount }: Counts, count: number) {
  return withServer(target, { hasProbe: true }, async ({ server, load }) => {
    const { origin } = server
    await load.run('sendMessages', { origin, connections, count: warmUpCount })
    const before = await server.memory()
    await load.run('sendMessages', { origin, connections, count })
    const after = await server.memory()
    const heapGrowthMb = (after.heapUsed - before.heapUsed) / megabyte
    return {
      rssGrowthMb: (after.rss - before.rss) / megabyte,
      heapGrowthMb,
      rssGrowthBeforeGcMb: (after.rssBeforeGc - before.rss) / megabyte,
      // Only the heap grows in proportion to the tasks. RSS grows in steps, so it is not extrapolated.
      heapGrowthFullMb: (heapGrowthMb * fullCount) / count,
    }
  })
}
