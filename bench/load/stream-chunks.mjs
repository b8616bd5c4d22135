import { speakerOf } from './speaker.mjs'
import { assertCounted, assertWholeStream } from './stream-check.mjs'
import { after, keepBusy, withMany } from './workers.mjs'

/** Warm-up streams are short whatever is measured: a server that is slow on long ones must not stall here. */
const warmUpChunks = 100

/**
 * Streams of `chunks` artifact updates, each read to its end. Events are the updates alone: the
 * few other events of a stream are work that is done but not counted, for every server alike.
 *
 * @param {{ origin: string, dialect?: string, connections: number, chunks: number, warmUpMs: number,
 *   durationMs: number, timeoutMs: number }} options
 */
export async function streamChunks(options) {
  const { origin, dialect = 'v1', connections, chunks, warmUpMs, durationMs, timeoutMs } = options
  const openSpeaker = await speakerOf(dialect)
  // Later than the time-out of the whole, which is the one that reports.
  const open = () => openSpeaker(origin, { silenceMs: 2 * timeoutMs })
  return withMany(connections, { open, timeoutMs }, async (speakers) => {
    await checkWholeStream(speakers[0])
    const warmUp = (speaker) => streamOne(speaker, warmUpChunks)
    await keepBusy(speakers, { turn: warmUp, isOver: after(warmUpMs) })
    let streams = 0
    const turn = (speaker) => {
      streams += 1
      return streamOne(speaker, chunks)
    }
    const timing = await keepBusy(speakers, { turn, isOver: after(durationMs) })
    return { streams, events: streams * chunks, ...timing }
  })
}

async function checkWholeStream(speaker) {
  const events = await speaker.readStream(`chunks ${warmUpChunks}`)
  assertWholeStream(events, { chunks: warmUpChunks, isTaskFirst: speaker.isTaskFirst })
}

async function streamOne(speaker, chunks) {
  assertCounted(await speaker.countStream(`chunks ${chunks}`), chunks)
}
