// How fast is a registry with many agents in it: looked up by name, and searched by words?
import { bout, runTimed } from '../bout.mjs'
import { contestants } from '../servers/contestants.mjs'

const budgetedCards = 10_000

export const registry = {
  name: 'registry',
  title:
    'A registry over HTTP: look-up of a card by name, 32 callers; search by words in English and Chinese, one caller',
  rounds: { full: 5, quick: 1 },
  columns: [
    { key: 'lookUpsPerSecond', title: 'look-ups/s' },
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
    ['registry-memory', 'registry-sqlite'].map((id) => ({
      id,
      server: id,
      title: `${contestants[id].title}: ${settings.cards.toLocaleString('en')} cards`,
      measure: () => measure(id, settings),
    })),
  budgets: (median, { cards }) => {
    // A small registry that is quick proves nothing about a large one.
    const figure = (key) => (cards === budgetedCards ? median('registry-sqlite', key) : Number.NaN)
    return [
      { what: 'look-ups with 10,000 cards', value: figure('lookUpsPerSecond'), atLeast: 5000, unit: '/s' },
      { what: 'search by words with 10,000 cards, p99', value: figure('p99SearchMs'), atMost: 20, unit: ' ms' },
    ]
  },
}

function measure(contestant, { cards, connections, warmUpMs, durationMs, searches }) {
  return bout(contestant, {}, async (sides) => {
    const { origin } = sides.server
    const filled = await sides.load.run('fillRegistry', { origin, connections, count: cards })
    const looked = await runTimed(sides, 'lookUpAgents', { connections, count: cards, warmUpMs, durationMs })
    // The first searches compile what the others run.
    await sides.load.run('searchAgents', { origin, repeats: Math.ceil(searches / 5) })
    const { ms } = await sides.load.run('searchAgents', { origin, repeats: searches })
    const sorted = ms.sort((a, b) => a - b)
    return {
      publishedPerSecond: filled.count / filled.seconds,
      lookUpsPerSecond: looked.requests / looked.seconds,
      serverBusy: looked.serverBusy,
      generatorBusy: looked.generatorBusy,
      medianSearchMs: sorted[Math.floor(sorted.length / 2)],
      p99SearchMs: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))],
    }
  })
}
