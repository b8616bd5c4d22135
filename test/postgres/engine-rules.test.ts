/** The rules of the engine (E-1 to E-12) on Postgres: the cases of the engine's own test files, on one server. */
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { onPostgres } from '../../src/engine/engine.fixture.js'
import { openPostgresStore } from '../../src/stores/postgres/index.js'
import type { CompleteStore } from '../../src/stores/store.js'
import { freshDatabase } from './database.js'
import { type PostgresServer, startPostgres } from './server.mjs'

const files = ['turns', 'sends', 'log', 'cancel', 'durability', 'approvals-and-usage']

let server: PostgresServer
/** Addresses of databases whose stores are closed. Emptying one is faster than creating one. */
const unused: string[] = []

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

await onPostgres(openEmptyStore, async () => {
  // The query makes separate modules: this worker may have loaded the files already, for the other stores.
  for (const file of files) await import(/* @vite-ignore */ `../../src/engine/${file}.test.ts?postgres`)
})

async function openEmptyStore(): Promise<CompleteStore> {
  const address = unused.pop() ?? (await freshDatabase(server))
  const client = new pg.Client(address)
  await client.connect()
  await client.query('SET client_min_messages = warning; DROP SCHEMA IF EXISTS dragoman CASCADE')
  await client.end()
  const store = await openPostgresStore(address)
  const close = store.close.bind(store)
  return Object.assign(store, {
    async close() {
      await close()
      unused.push(address)
    },
  })
}
