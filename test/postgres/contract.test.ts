import { afterAll, beforeAll, describe, it } from 'vitest'
import { recordsContract } from '../../src/stores/records.contract.js'
import { storeContract } from '../../src/stores/store.contract.js'
import { storeWithClock } from './database.js'
import { type PostgresServer, startPostgres } from './server.mjs'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

describe('postgres store', () => storeContract({ describe, it }, ({ now }) => storeWithClock(server, now)))

describe('records in postgres', () => recordsContract({ describe, it }, ({ now }) => storeWithClock(server, now)))
