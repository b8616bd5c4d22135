/** Databases for one test, with a clock that the test can move. */
import pg from 'pg'
import { openPostgresStore, type PostgresStoreOptions } from '../../src/stores/postgres/index.js'
import type { CompleteStore } from '../../src/stores/store.js'
import type { PostgresServer } from './server.mjs'

let count = 0

export async function freshDatabase(server: PostgresServer): Promise<string> {
  count += 1
  return await server.database(`test_${process.pid}_${count}`)
}

/** An empty store with the clock `now`: the clock of the database is a row that is written before each call. One at a time. */
export async function storeWithClock(
  server: PostgresServer,
  now: () => number,
  options: PostgresStoreOptions = {},
): Promise<CompleteStore> {
  const address = await server.database('contract')
  const clock = new pg.Client(address)
  await clock.connect()
  // Much faster than a new database for each case.
  await clock.query(`SET client_min_messages = warning; DROP SCHEMA IF EXISTS dragoman CASCADE;
    DROP TABLE IF EXISTS public.clock; CREATE TABLE public.clock (ms bigint NOT NULL); INSERT INTO public.clock VALUES (0)`)
  const store = await openPostgresStore(address, options)
  await clock.query(`CREATE OR REPLACE FUNCTION dragoman.now_ms() RETURNS bigint LANGUAGE sql AS
    $$ SELECT ms FROM public.clock $$`)
  let written: number | undefined
  const setClock = async () => {
    if (written === now()) return
    written = now()
    await clock.query('UPDATE public.clock SET ms = $1', [written])
  }
  return onTime(store, setClock, async () => await clock.end())
}

/** Sets the clock before each call, except those that only register a callback. */
function onTime<T extends object>(target: T, setClock: () => Promise<void>, afterClose: () => Promise<void>): T {
  return new Proxy(target, {
    get(of, name) {
      const member = Reflect.get(of, name) as unknown
      if (typeof member === 'object' && member !== null) return onTime(member, setClock, afterClose)
      if (typeof member !== 'function') return member
      if (String(name).startsWith('watch')) return member.bind(of) as unknown
      return async (...given: unknown[]) => {
        if (name !== 'close') await setClock()
        const result = (await Reflect.apply(member, of, given)) as unknown
        if (name === 'close') await afterClose()
        return result
      }
    },
  })
}
