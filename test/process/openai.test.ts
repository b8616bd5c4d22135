/** Responses of the OpenAI endpoint on several replicas: a stream that is cut by a kill resumes on another one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { clients } from '../integrations/openai.fixture.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent

let postgres: PostgresServer
let folder: TemporaryFolder
beforeAll(async () => {
  postgres = await startPostgres()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await postgres[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

let files = 0
const stores: readonly (readonly [string, () => Promise<string>])[] = [
  ['one file', async () => `sqlite:${join(folder.path, `${files++}.sqlite`)}`],
  ['one database', () => freshDatabase(postgres)],
]

const replicaFile = new URL('openai-replica.mjs', import.meta.url).pathname

async function startReplica(store: string) {
  const child: ChildProcess = spawn(process.execPath, [replicaFile, JSON.stringify({ store })], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let stdout = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  const url = await eventually(20_000, 'a replica', () => /ready at (\S+)\n/.exec(stdout)?.[1]).catch(
    async (error: unknown) => {
      await kill()
      throw error
    },
  )
  return { baseURL: new URL('/v1', url).href, kill, [Symbol.asyncDispose]: kill }
}

const text = (count: number) => Array.from({ length: count }, (_, place) => `${place + 1} `).join('')

const deltasOf = (events: readonly StreamEvent[]) =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')

async function readAll(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** Reads a stream until it breaks. `onDeltas` is called after some text. */
async function readUntilCut(stream: AsyncIterable<StreamEvent>, onDeltas: () => void): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  let deltas = 0
  const reading = (async () => {
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'response.output_text.delta' && ++deltas === 5) onDeltas()
    }
  })()
  await expect(reading).rejects.toThrow()
  return events
}

const matrix = stores.flatMap(([storeName, newStore]) =>
  clients.map(([clientName, Client]) => [storeName, clientName, newStore, Client] as const),
)

describe.each(matrix)('replicas on %s, with %s', { timeout: 60_000 }, (_store, _client, newStore, Client) => {
  const startPair = async () => {
    const store = await newStore()
    const [a, b] = await Promise.all([startReplica(store), startReplica(store)])
    const clientOf = ({ baseURL }: { readonly baseURL: string }) =>
      new Client({ apiKey: 'key', baseURL, maxRetries: 0 }).responses
    return {
      a,
      onA: clientOf(a),
      onB: clientOf(b),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([a.kill(), b.kill()])
      },
    }
  }

  it('continue a background stream whose replica was killed while another one runs the task', async () => {
    await using pair = await startPair()
    const { id } = await pair.onB.create({ model: 'Counter', input: 'count 60', background: true })
    const stream = await pair.onA.retrieve(id, { stream: true })
    const before = await readUntilCut(stream, () => void pair.a.kill())
    const startingAfter = before.at(-1)?.sequence_number ?? 0
    const after = await readAll(await pair.onB.retrieve(id, { stream: true, starting_after: startingAfter }))
    const whole = [...before, ...after]
    expect(deltasOf(whole)).toBe(text(60))
    expect(whole.at(-1)).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } })
    expect(await readAll(await pair.onB.retrieve(id, { stream: true }))).toEqual(whole)
  })

  it('continue a background stream whose replica was killed together with the turn that it ran', async () => {
    await using pair = await startPair()
    const stream = await pair.onA.create({ model: 'Counter', input: 'count 60', background: true, stream: true })
    const before = await readUntilCut(stream, () => void pair.a.kill())
    const [created] = before
    const id = created?.type === 'response.created' ? created.response.id : ''
    const startingAfter = before.at(-1)?.sequence_number ?? 0
    const after = await readAll(await pair.onB.retrieve(id, { stream: true, starting_after: startingAfter }))
    const numbers = [...before, ...after].map((event) => event.sequence_number)
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other))
    // The turn ran again, so its text begins again, in a message of its own.
    const final = await pair.onB.retrieve(id)
    expect(final).toMatchObject({ status: 'completed', output_text: text(60), output: [{ type: 'message' }] })
    expect(after.at(-1)).toMatchObject({ type: 'response.completed', response: { output: final.output } })
    expect(await readAll(await pair.onB.retrieve(id, { stream: true }))).toEqual([...before, ...after])
    const helper = await pair.onB.stream({ response_id: id }).finalResponse()
    expect(helper.output_text).toBe(text(60))
  })

  it('answer a question that another replica asked before it was killed', async () => {
    await using pair = await startPair()
    const asked = await pair.onA.create({ model: 'Counter', input: 'ask' })
    await pair.a.kill()
    const answer = { model: 'Counter', input: '3', previous_response_id: asked.id }
    const [one, two] = await Promise.all([pair.onB.create(answer), pair.onB.create(answer)])
    expect(one).toMatchObject({ output_text: '1 2 3 ', conversation: asked.conversation })
    expect(two).toEqual(one)
  })
})
