/** Publishes agents in a registry, looks them up and searches for them. */
import { type Connection, openConnection } from './connection.ts'
import { after, keepBusy, type Timing, withMany, withOne } from './workers.ts'

const subjects = ['weather', 'travel', 'finance', 'music', 'health', 'law', '天气', '发票', '旅游', '翻译']
const verbs = ['forecasts', 'books', 'audits', 'composes', 'explains', 'checks', '查询', '识别', '规划', '生成']
const things = ['cities', 'flights', 'accounts', 'songs', 'symptoms', 'contracts', '城市', '报销单', '路线', '文章']

/** One of many cards that share words, so that a search finds several candidates. */
function cardOf(n: number) {
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
    skills: Array.from({ length: 3 }, (_, index) => ({
      id: `skill-${n}-${index}`,
      name: `${verb} ${thing} ${index}`,
      description: `${subject}: ${verb} ${thing}, as often as it is asked to`,
      tags: [subject, thing],
      examples: [`${verb} ${thing} ${n}`, `${subject}?`],
    })),
  }
}

const pathOf = (n: number) => `/v1/agents/public/agent-${n}`

export interface FillOptions {
  readonly origin: string
  readonly connections: number
  readonly count: number
}

export interface LookUpOptions extends FillOptions {
  readonly warmUpMs: number
  readonly durationMs: number
}

export interface SearchOptions {
  readonly origin: string
  readonly repeats: number
}

/** Publishes `count` cards. */
export function fillRegistry({ origin, connections, count }: FillOptions): Promise<Timing & { count: number }> {
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    let published = 0
    const turn = async (connection: Connection) => {
      const n = published++
      if (n >= count) return
      await connection.call({
        method: 'PUT',
        path: pathOf(n),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ card: cardOf(n) }),
      })
    }
    const timing = await keepBusy(opened, { turn, isOver: () => published >= count })
    return { count, ...timing }
  })
}

interface RegistryEntry {
  readonly name?: string
  readonly card?: { readonly name?: string }
}

export function lookUpAgents(options: LookUpOptions): Promise<Timing & { requests: number }> {
  const { origin, connections, count, warmUpMs, durationMs } = options
  return withMany(connections, { open: () => openConnection(origin) }, async (opened) => {
    let requests = 0
    const turn = async (connection: Connection) => {
      const n = (requests++ * 7919) % count
      const { name, card } = await connection.call<RegistryEntry>({ method: 'GET', path: pathOf(n) })
      if (name !== `agent-${n}` || !card?.name?.startsWith(`Agent ${n} `)) {
        throw new Error(`Expected agent-${n}, got ${name}`)
      }
    }
    await keepBusy(opened, { turn, isOver: after(warmUpMs) })
    requests = 0
    const timing = await keepBusy(opened, { turn, isOver: after(durationMs) })
    return { requests, ...timing }
  })
}

/** One search after the other: the question is the latency of one caller. */
export function searchAgents({ origin, repeats }: SearchOptions): Promise<{ ms: number[] }> {
  return withOne(openConnection(origin), async (connection) => {
    const ms: number[] = []
    for (let repeat = 0; repeat < repeats; repeat++) {
      const text = `${subjects[repeat % 10]} ${things[(repeat * 3) % 10]}`
      const path = `/v1/agents?${new URLSearchParams({ text, limit: '10' })}`
      const startedAt = performance.now()
      const { agents } = await connection.call<{ agents?: unknown[] }>({ method: 'GET', path })
      ms.push(performance.now() - startedAt)
      if (agents?.length !== 10) throw new Error(`Expected 10 agents for ${text}, got ${agents?.length}`)
    }
    return { ms }
  })
}
