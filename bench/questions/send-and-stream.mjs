// Sends and streams of one entry: two measurements, each with a server of its own, in one row.
import { bout, runTimed } from '../bout.mjs'

export const sendAndStreamColumns = [
  { key: 'requestsPerSecond', title: 'requests/s' },
  { key: 'eventsPerSecond', title: 'stream events/s' },
  { key: 'sendServerBusy', title: 'server CPU, sends', isShare: true },
  { key: 'sendGeneratorBusy', title: 'generator CPU, sends', isShare: true },
  { key: 'streamServerBusy', title: 'server CPU, streams', isShare: true },
  { key: 'streamGeneratorBusy', title: 'generator CPU, streams', isShare: true },
]

/**
 * @param {string} server
 * @param {{ dialect: string, connections: number, chunks: number, warmUpMs: number,
 *   durationMs: number, timeoutMs: number }} options
 */
export async function measureSendAndStream(server, options) {
  const sent = await bout(server, {}, (sides) => runTimed(sides, 'sendMessages', options))
  const streamed = await bout(server, {}, (sides) => runTimed(sides, 'streamChunks', options))
  return {
    requestsPerSecond: sent.requests / sent.seconds,
    eventsPerSecond: streamed.events / streamed.seconds,
    sendServerBusy: sent.serverBusy,
    sendGeneratorBusy: sent.generatorBusy,
    streamServerBusy: streamed.serverBusy,
    streamGeneratorBusy: streamed.generatorBusy,
  }
}
