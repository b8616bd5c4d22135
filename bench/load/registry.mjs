// A registry full of agents, and those who look for them.
import { openConnection } from './connection.mjs'
import { after, keepBusy, withMany } from './workers.mjs'

const subjects = ['weather', 'travel', 'finance', 'music', 'health', 'law', '天气', '发票', '旅游', '翻译']
const verbs = ['forecasts', 'books', 'audits', 'composes', 'explains', 'checks', '查询', '识别', '规划', '生成']
const things = ['cities', 'flights', 'accounts', 'songs', 'symptoms', 'contracts', '城市', '报销单', '路线', '文章']

/** One of many cards that share words, so that a search has something to choose from. */
function cardOf(n) {
  const [subject, verb, thing] = [subjects[n % 10], verbs[(n >> 3) % 10], things[(n >> 6) % 10]]
  return {
    name: `Agent ${n} ${subject}`,
    description: `${verb} ${thing} for ${subject} number ${n}. `.repeat(4),
    version: '1.0.0',
    supportedInterfaces: [
      { url: `http://127.0.0.1:9/${n}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `http://127.0.0.1:9/${n}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: Array.from({ length: 3 }, (_, place) => ({
      id: `skill-${n}-${place}`,
      name: `${verb} ${thing} ${place}`,
      description: `${subject}: ${verb} ${thing}, as often as it is asked to`,
      tags: [subject, thing],
      examples: [`${verb} ${thing} ${n}`, `${subject}?`],
    })),
  }
}

const placeOf = (n) => `/v1/agents/public/agent-${n}`

/** @param {{ origin: string, connections: number, count: number }} options */
export function fillRegistry({ origin, connections, count }) {
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    let published = 0
    const turn = async (connection) => {
      const n = published++
      if (n >= count) return
      await connection.call({
        method: 'PUT',
        path: placeOf(n),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ card: cardOf(n) }),
      })
    }
    const timing = await keepBusy(opened, { turn, isOver: () => published >= count })
    return { count, ...timing }
  })
}

/** @param {{ origin: string, connections: number, count: number, warmUpMs: number, durationMs: number }} options */
export function lookUpAgents({ origin, connections, count, warmUpMs, durationMs }) {
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    let requests = 0
    const turn = async (connection) => {
      const n = (requests++ * 7919) % count
      const { name, card } = await connection.call({ method: 'GET', path: placeOf(n) })
      if (name !== `agent-${n}` || !card?.name.startsWith(`Agent ${n} `))
        throw new Error(`Wanted agent-${n}, got ${name}`)
    }
    await keepBusy(opened, { turn, isOver: after(warmUpMs) })
    requests = 0
    const timing = await keepBusy(opened, { turn, isOver: after(durationMs) })
    return { requests, ...timing }
  })
}

/** One caller, one search after the other: the question is how long one waits. */
export function searchAgents({ origin, repeats }) {
  return withMany(1, { open: () => openConnection(origin) }, async ([connection]) => {
    const ms = []
    for (let repeat = 0; repeat < repeats; repeat++) {
      const text = `${subjects[repeat % 10]} ${things[(repeat * 3) % 10]}`
      const path = `/v1/agents?${new URLSearchParams({ text, limit: '10' })}`
      const startedAt = performance.now()
      const { agents } = await connection.call({ method: 'GET', path })
      ms.push(performance.now() - startedAt)
      if (agents?.length !== 10) throw new Error(`Wanted 10 agents for ${text}, got ${agents?.length}`)
    }
    return { ms }
  })
}
