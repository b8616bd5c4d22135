/** The cost of calls and of stream messages over gRPC. */
import type { SendOptions } from '../load/send-messages.ts'
import { type Measurement, withServer } from '../measurement.ts'
import { measureSendAndStream, measureSends, sendAndStreamColumns } from './measure.ts'
import { defineQuestion, type Figures } from './question.ts'

const servers = ['dragoman-memory', 'sdk-grpc', 'bare-grpc'] as const
const dialect = 'v1-grpc'

export const grpc = defineQuestion({
  name: 'grpc',
  title: 'gRPC: unary sends, and streams of 100 chunks, 32 channels',
  rounds: { full: 5, quick: 1 },
  columns: sendAndStreamColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    chunks: 100,
    // Twice that of the other questions: grpc-js is a lot of code, and slow until it is compiled.
    warmUpMs: isQuick ? 1500 : 3000,
    durationMs: isQuick ? 1000 : 4000,
    timeoutMs: 60_000,
  }),
  entries: (settings) => [
    ...servers.map((server) => ({
      id: server,
      server,
      measure: () => measureSendAndStream(server, { ...settings, dialect }),
    })),
    {
      id: 'empty-grpc',
      server: 'empty-grpc',
      measure: () => withServer('empty-grpc', {}, (measurement) => measureEmpty(measurement, settings)),
    },
  ],
  budgets: ({ ratio }) => [
    {
      what: 'CPU of a unary send, against an empty grpc-js server',
      value: ratio('dragoman-memory', 'empty-grpc', 'sendCpuMicros'),
      atMost: 1.5,
      unit: '×',
    },
    {
      what: 'unary sends/s against the SDK',
      value: ratio('dragoman-memory', 'sdk-grpc', 'sendsPerSecond'),
      atLeast: 2.5,
      unit: '×',
    },
    {
      what: 'stream messages/s against bare grpc-js',
      value: 100 * ratio('dragoman-memory', 'bare-grpc', 'eventsPerSecond'),
      atLeast: 100,
      unit: '%',
    },
    {
      what: 'stream messages/s against the SDK',
      value: ratio('dragoman-memory', 'sdk-grpc', 'eventsPerSecond'),
      atLeast: 6,
      unit: '×',
    },
  ],
})

async function measureEmpty(measurement: Measurement, settings: Omit<SendOptions, 'origin'>): Promise<Figures> {
  const sends = await measureSends(measurement, { ...settings, dialect, isEchoExpected: false })
  return { sendCpuMicros: sends.cpuMicros, sendsPerSecond: sends.perSecond, sendGeneratorBusy: sends.generatorBusy }
}
