import { type Driver, driverOf } from './driver.ts'
import { assertCounted, assertWholeStream } from './stream-check.ts'
import { after, keepBusy, type Timing, withMany } from './workers.ts'

/** Warm-up streams are always short, so that a server that is slow on long streams does not delay the start. */
const warmUpChunks = 100

export interface StreamOptions {
  readonly origin: string
  /** Default `v1`. */
  readonly dialect?: string
  readonly connections: number
  readonly chunks: number
  readonly warmUpMs: number
  readonly durationMs: number
  readonly timeoutMs: number
}

/**
 * Streams of `chunks` artifact updates, each read to its end. Only these updates count as events: the few other events
 * of a stream are not counted, for any server.
 */
export async function streamChunks(options: StreamOptions): Promise<Timing & { streams: number; events: number }> {
  const { origin, dialect = 'v1', connections, chunks, warmUpMs, durationMs, timeoutMs } = options
  const openDriver = await driverOf(dialect)
  // The time-out of the whole job comes first: it reports the reason.
  const open = () => openDriver(origin, { silenceMs: 2 * timeoutMs })
  return withMany(connections, { open, timeoutMs }, async (drivers) => {
    if (drivers[0]) await checkWholeStream(drivers[0])
    const warmUp = (driver: Driver) => streamOne(driver, warmUpChunks)
    await keepBusy(drivers, { turn: warmUp, isOver: after(warmUpMs) })
    let streams = 0
    const turn = (driver: Driver) => {
      streams += 1
      return streamOne(driver, chunks)
    }
    const timing = await keepBusy(drivers, { turn, isOver: after(durationMs) })
    return { streams, events: streams * chunks, ...timing }
  })
}

async function checkWholeStream(driver: Driver): Promise<void> {
  const events = await driver.readStream(`chunks ${warmUpChunks}`)
  assertWholeStream(events, { chunks: warmUpChunks, isTaskFirst: driver.isTaskFirst })
}

async function streamOne(driver: Driver, chunks: number): Promise<void> {
  assertCounted(await driver.countStream(`chunks ${chunks}`), chunks)
}
