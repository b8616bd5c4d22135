/** Calls and stream messages per second over gRPC. */
import { measureSendAndStream, sendAndStreamColumns } from './measure-send-and-stream.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-memory', 'sdk-grpc', 'bare-grpc'] as const

export const grpc = defineQuestion({
  name: 'grpc',
  title: 'gRPC: unary sends, and streams of 100 chunks, 32 channels',
  rounds: { full: 5, quick: 2 },
  columns: sendAndStreamColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    chunks: 100,
    // Twice that of the other questions: grpc-js is a lot of code, and slow until it is compiled.
    warmUpMs: isQuick ? 1500 : 3000,
    durationMs: isQuick ? 1500 : 4000,
    timeoutMs: 60_000,
  }),
  entries: (settings) =>
    servers.map((server) => ({
      id: server,
      server,
      measure: () => measureSendAndStream(server, { ...settings, dialect: 'v1-grpc' }),
    })),
  budgets: (median) => {
    const ratio = (key: string, other: string) => median('dragoman-memory', key) / median(other, key)
    return [
      {
        what: 'unary sends against bare grpc-js',
        value: 100 * ratio('requestsPerSecond', 'bare-grpc'),
        atLeast: 80,
        unit: '%',
      },
      {
        what: 'stream messages against bare grpc-js',
        value: 100 * ratio('eventsPerSecond', 'bare-grpc'),
        atLeast: 60,
        unit: '%',
      },
      {
        what: 'unary sends against the SDK',
        value: ratio('requestsPerSecond', 'sdk-grpc'),
        atLeast: 1.8,
        unit: '×',
      },
      {
        what: 'stream messages against the SDK',
        value: ratio('eventsPerSecond', 'sdk-grpc'),
        atLeast: 6,
        unit: '×',
      },
    ]
  },
})
