import { userMessage } from './messages.mjs'
import { assertWholeStream, createStreamCounter } from './stream-check.mjs'
import { after, keepBusy, withConnections } from './workers.mjs'

/** Warm-up streams are short whatever is measured: a server that is slow on long ones must not stall here. */
const warmUpChunks = 100

/**
 * Streams of `chunks` artifact updates, each read to its end. Events are the updates alone: the
 * few other events of a stream are work that is done but not counted, for every server alike.
 *
 * @param {{ origin: string, connections: number, chunks: number, warmUpMs: number,
 *   durationMs: number, timeoutMs: number }} options
 */
export function streamChunks({ origin, connections, chunks, warmUpMs, durationMs, timeoutMs }) {
  // Later than the time-out below, which is the one that reports.
  const silenceMs = 2 * timeoutMs
  return withConnections(origin, { count: connections, silenceMs }, async (opened) => {
    await checkWholeStream(opened[0])
    const warmUp = (connection) => streamOne(connection, warmUpChunks)
    await keepBusy(opened, { turn: warmUp, isOver: after(warmUpMs) })
    let streams = 0
    const turn = (connection) => {
      streams += 1
      return streamOne(connection, chunks)
    }
    const work = keepBusy(opened, { turn, isOver: after(durationMs) })
    const timing = await within(timeoutMs, work)
    return { streams, events: streams * chunks, ...timing }
  })
}

async function checkWholeStream(connection) {
  const pieces = []
  const message = userMessage(`chunks ${warmUpChunks}`)
  await connection.stream('SendStreamingMessage', { message }, (piece) => pieces.push(piece))
  assertWholeStream(Buffer.concat(pieces).toString(), warmUpChunks)
}

async function streamOne(connection, chunks) {
  const counter = createStreamCounter()
  const message = userMessage(`chunks ${chunks}`)
  await connection.stream('SendStreamingMessage', { message }, counter.add)
  counter.assertComplete(chunks)
}

/** Fails with the code `NO_ANSWER` when the work takes longer than it may. */
async function within(timeoutMs, work) {
  let timer
  const timeout = new Promise((_resolve, reject) => {
    const error = new Error(`no answer in ${timeoutMs / 1000} s`)
    timer = setTimeout(() => reject(Object.assign(error, { code: 'NO_ANSWER' })), timeoutMs)
  })
  // The loser of the race fails later, when its connections are closed; nobody waits for it then.
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
