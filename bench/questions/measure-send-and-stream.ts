/** Sends and streams of one entry: two measurements, each with its own server, in one row. */
import type { StreamOptions } from '../load/stream-chunks.ts'
import { runTimed, withServer } from '../measurement.ts'
import type { TargetName } from '../servers/targets.ts'
import type { Column } from './question.ts'

export const sendAndStreamColumns: readonly Column[] = [
  { key: 'requestsPerSecond', title: 'requests/s' },
  { key: 'eventsPerSecond', title: 'stream events/s' },
  { key: 'sendServerBusy', title: 'server CPU, sends', isShare: true },
  { key: 'sendGeneratorBusy', title: 'generator CPU, sends', isShare: true },
  { key: 'streamServerBusy', title: 'server CPU, streams', isShare: true },
  { key: 'streamGeneratorBusy', title: 'generator CPU, streams', isShare: true },
]

export async function measureSendAndStream(server: TargetName, options: Omit<StreamOptions, 'origin'>) {
  const sent = await withServer(server, {}, (measurement) => runTimed(measurement, 'sendMessages', options))
  const streamed = await withServer(server, {}, (measurement) => runTimed(measurement, 'streamChunks', options))
  return {
    requestsPerSecond: sent.requests / sent.seconds,
    eventsPerSecond: streamed.events / streamed.seconds,
    sendServerBusy: sent.serverBusy,
    sendGeneratorBusy: sent.generatorBusy,
    streamServerBusy: streamed.serverBusy,
    streamGeneratorBusy: streamed.generatorBusy,
  }
}
