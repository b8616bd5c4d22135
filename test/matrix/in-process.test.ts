/** Every dialect over both HTTP bindings, on every store, without a port. */
import { createHandler, type FetchHandler } from 'dragoman/server'
import { openPostgresStore } from 'dragoman/stores/postgres'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { chatRpc, invoke, taskRest } from './ad-hoc-clients.js'
import { all, lastState, matrixAgent, scenarios } from './scenarios.js'
import { v01Go, v01JsonRpc, v03JsonRpc, v03Rest } from './v0-clients.js'
import { v1JsonRpc, v1Rest } from './v1-client.js'
import { type Fetch, resultOf, type WireClient } from './wire-client.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

const stores = {
  memory: async () => new MemoryStore(),
  sqlite: () => openSqliteStore(':memory:'),
  postgres: async () => await openPostgresStore(await freshDatabase(server)),
}

let handler: FetchHandler
const fetch: Fetch = (path, init) => handler.fetch(new Request(`http://localhost${path}`, init))

const wireClients: readonly WireClient[] = [
  v1JsonRpc(fetch),
  v1Rest(fetch),
  v03JsonRpc(fetch),
  v03JsonRpc(fetch, '0.2'),
  v03Rest(fetch),
  v01JsonRpc(fetch),
  v01Go(fetch),
  taskRest(fetch),
  invoke(fetch),
  invoke(fetch, 'jsonrpc'),
  chatRpc(fetch),
]
const readers = wireClients.filter(({ has }) => has.has('get'))
const watchers = wireClients.filter(({ has }) => has.has('subscribe'))

describe.each(Object.entries(stores))('on the %s store', (_name, open) => {
  beforeAll(async () => {
    handler = await createHandler(matrixAgent, { store: await open(), dialects: 'all' })
  })
  afterAll(() => handler.close({ deadlineMs: 0 }))

  describe.each(wireClients)('a client of $name', (wireClient) => {
    it.each(scenarios)('%s', async (_scenario, play) => await play(wireClient))
  })

  it(proves('RL-ALL-1', 'a task of any dialect is the same task in every other'), async () => {
    for (const maker of readers) {
      const made = resultOf(await maker.send('ask'))
      for (const reader of readers) {
        const read = resultOf(await reader.get(made.id ?? ''))
        expect([read.id, read.note], `${maker.name} read by ${reader.name}`).toEqual([
          made.id,
          'What is the second text?',
        ])
      }
    }
  })

  it('a task of one dialect is continued in another and streamed in a third', async () => {
    for (const [place, maker] of watchers.entries()) {
      const next = watchers[(place + 1) % watchers.length] as WireClient
      const third = watchers[(place + 2) % watchers.length] as WireClient
      const { id = '', contextId } = resultOf(await maker.send('ask'))
      const watching = third.subscribe(id)[Symbol.asyncIterator]()
      await watching.next()
      const answered = resultOf(await next.send('second', { taskId: id, contextId }))
      expect(answered, `${maker.name} → ${next.name}`).toMatchObject({ id, text: 'ask\nsecond' })
      const seen = await all({ [Symbol.asyncIterator]: () => watching })
      expect(lastState(seen), `watched by ${third.name}`).toBe('completed')
      expect(seen.map(({ text }) => text ?? '').join(''), `watched by ${third.name}`).toContain('ask\nsecond')
    }
  })

  it(proves('RM-STR-1', 'subscribers in different dialects see the same order'), async () => {
    const stream = v1JsonRpc(fetch).stream('chunks 20 5')[Symbol.asyncIterator]()
    const first = (await stream.next()).value
    const texts = await Promise.all(
      watchers
        .filter(({ dialect }) => dialect !== 'task-rest')
        .map(async (watcher) => (await all(watcher.subscribe(first.id))).map(({ text }) => text ?? '').join('')),
    )
    await all({ [Symbol.asyncIterator]: () => stream })
    const whole = Array.from({ length: 20 }, (_, place) => `chunk ${place + 1} `).join('')
    expect(texts).toEqual(texts.map(() => whole))
  })
})
