/** Bytes that a server allocates on the JS heap for a send and for an event. */
import { withServer } from '../measurement.ts'
import type { TargetName } from '../servers/targets.ts'
import { defineQuestion } from './question.ts'

const servers = ['dragoman-memory', 'dragoman-sqlite', 'sdk-memory', 'bare'] as const
const connections = 32
const chunks = 100
const kilobyte = 1024

interface AllocationSettings {
  readonly warmUpCount: number
  readonly count: number
  readonly streamMs: number
}

export const allocation = defineQuestion({
  name: 'allocation',
  title: 'JS heap allocated per send, and per event in streams of 100 chunks, 32 connections',
  rounds: { full: 3, quick: 1 },
  columns: [
    { key: 'sendKb', title: 'KB per send', digits: 1 },
    { key: 'eventKb', title: 'KB per stream event', digits: 2 },
  ],
  settings: ({ isQuick }) => ({
    // Compiled code allocates less: the first calls are not measured.
    warmUpCount: isQuick ? 4_000 : 10_000,
    count: isQuick ? 4_000 : 20_000,
    streamMs: isQuick ? 500 : 2_000,
  }),
  entries: (settings) => servers.map((server) => ({ id: server, server, measure: () => measure(server, settings) })),
  budgets: ({ median }) => [
    { what: 'allocation per send, memory store', value: median('dragoman-memory', 'sendKb'), atMost: 12, unit: ' KB' },
  ],
})

function measure(target: TargetName, { warmUpCount, count, streamMs }: AllocationSettings) {
  return withServer(target, { hasProbe: true }, async ({ server, load }) => {
    const { origin } = server
    const streams = { origin, connections, chunks, warmUpMs: 0, durationMs: streamMs, timeoutMs: 60_000 }
    await load.run('sendMessages', { origin, connections, count: warmUpCount })
    await server.allocation()
    const { requests } = await load.run('sendMessages', { origin, connections, count })
    const sends = await server.allocation()
    await load.run('streamChunks', streams)
    await server.allocation()
    const { events } = await load.run('streamChunks', streams)
    const streamed = await server.allocation()
    return {
      sendKb: sends.allocated / requests / kilobyte,
      eventKb: streamed.allocated / events / kilobyte,
    }
  })
}
