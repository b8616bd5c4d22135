/** Latency and throughput of a registry with many agents: look-ups by name and full-text searches. */
import { runTimed, timedFigures, withServer } from '../measurement.ts'
import { percentile } from '../report/summarise.ts'
import { type TargetName, targets } from '../servers/targets.ts'
import { defineQuestion } from './question.ts'

const servers = ['registry-memory', 'registry-sqlite'] as const
const budgetedCards = 10_000

interface RegistrySettings {
  readonly cards: number
  readonly connections: number
  readonly warmUpMs: number
  readonly durationMs: number
  readonly searches: number
}

export const registry = defineQuestion({
  name: 'registry',
  title:
    'A registry over HTTP: look-up of a card by name, 32 callers; search by words in English and Chinese, one caller',
  rounds: { full: 5, quick: 1 },
  isLong: true,
  columns: [
    { key: 'cpuMicros', title: 'CPU µs per look-up', digits: 1 },
    { key: 'perSecond', title: 'look-ups/s' },
    { key: 'medianSearchMs', title: 'search, median, ms', digits: 2 },
    { key: 'p99SearchMs', title: 'search, p99, ms', digits: 2 },
    { key: 'publishedPerSecond', title: 'published/s' },
    { key: 'serverBusy', title: 'server busy', isShare: true },
    { key: 'generatorBusy', title: 'generator busy', isShare: true },
  ],
  settings: ({ isQuick }) => ({
    cards: isQuick ? 2000 : budgetedCards,
    connections: 32,
    warmUpMs: isQuick ? 500 : 1500,
    durationMs: isQuick ? 1500 : 5000,
    searches: isQuick ? 200 : 1000,
  }),
  entries: (settings) =>
    servers.map((id) => ({
      id,
      server: id,
      title: `${targets[id].title}: ${settings.cards.toLocaleString('en')} cards`,
      measure: () => measure(id, settings),
    })),
  budgets: ({ median }, { cards }) => {
    // A fast small registry proves nothing about a large one.
    const figure = (key: string) => (cards === budgetedCards ? median('registry-sqlite', key) : Number.NaN)
    return [
      { what: 'look-ups with 10,000 cards', value: figure('perSecond'), atLeast: 5000, unit: '/s' },
      { what: 'search by words with 10,000 cards, p99', value: figure('p99SearchMs'), atMost: 20, unit: ' ms' },
    ]
  },
})

function measure(target: TargetName, { cards, connections, warmUpMs, durationMs, searches }: RegistrySettings) {
  return withServer(target, {}, async (measurement) => {
    const { server, load } = measurement
    const { origin } = server
    const filled = await load.run('fillRegistry', { origin, connections, count: cards })
    const { requests, ...timing } = await runTimed(measurement, 'lookUpAgents', {
      connections,
      count: cards,
      warmUpMs,
      durationMs,
    })
    // Warm-up: the first searches run before the code is compiled.
    await load.run('searchAgents', { origin, repeats: Math.ceil(searches / 5) })
    const { ms } = await load.run('searchAgents', { origin, repeats: searches })
    return {
      publishedPerSecond: filled.count / filled.seconds,
      ...timedFigures(timing, requests),
      medianSearchMs: percentile(ms, 0.5),
      p99SearchMs: percentile(ms, 0.99),
    }
  })
}
