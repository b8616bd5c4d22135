/** Sends and streams: the measurements that most questions share, with their columns. */
import type { SendOptions } from '../load/send-messages.ts'
import type { StreamOptions } from '../load/stream-chunks.ts'
import { type Measurement, runTimed, type TimedFigures, timedFigures, withServer } from '../measurement.ts'
import type { TargetName } from '../servers/targets.ts'
import type { Column, Figures } from './question.ts'

const shareColumns: readonly Column[] = [
  { key: 'serverBusy', title: 'server CPU', isShare: true },
  { key: 'generatorBusy', title: 'generator CPU', isShare: true },
]

export const sendColumns: readonly Column[] = [
  { key: 'cpuMicros', title: 'CPU µs per send', digits: 1 },
  { key: 'perSecond', title: 'sends/s' },
  ...shareColumns,
]

export const streamColumns: readonly Column[] = [
  { key: 'cpuMicros', title: 'CPU µs per event', digits: 2 },
  { key: 'perSecond', title: 'events/s' },
  ...shareColumns,
]

export const sendAndStreamColumns: readonly Column[] = [
  { key: 'sendCpuMicros', title: 'CPU µs per send', digits: 1 },
  { key: 'sendsPerSecond', title: 'sends/s' },
  { key: 'eventCpuMicros', title: 'CPU µs per stream event', digits: 2 },
  { key: 'eventsPerSecond', title: 'stream events/s' },
  { key: 'sendGeneratorBusy', title: 'generator CPU, sends', isShare: true },
  { key: 'streamGeneratorBusy', title: 'generator CPU, streams', isShare: true },
]

export async function measureSends(
  measurement: Measurement,
  options: Omit<SendOptions, 'origin'>,
): Promise<TimedFigures> {
  const { requests, ...timing } = await runTimed(measurement, 'sendMessages', options)
  return timedFigures(timing, requests)
}

export async function measureStreams(
  measurement: Measurement,
  options: Omit<StreamOptions, 'origin'>,
): Promise<TimedFigures> {
  const { events, ...timing } = await runTimed(measurement, 'streamChunks', options)
  return timedFigures(timing, events)
}

/** Two measurements, each with its own server, in one row. */
export async function measureSendAndStream(
  server: TargetName,
  options: Omit<StreamOptions, 'origin'>,
): Promise<Figures> {
  const sends = await withServer(server, {}, (measurement) => measureSends(measurement, options))
  const streams = await withServer(server, {}, (measurement) => measureStreams(measurement, options))
  return {
    sendCpuMicros: sends.cpuMicros,
    sendsPerSecond: sends.perSecond,
    eventCpuMicros: streams.cpuMicros,
    eventsPerSecond: streams.perSecond,
    sendGeneratorBusy: sends.generatorBusy,
    streamGeneratorBusy: streams.generatorBusy,
  }
}
