import { describe, expect, it } from 'vitest'
import { createSender } from '../client/guarded-fetch.js'
import { v0_1Client as dialect } from '../dialects/v0_1/client.js'
import { batchesOf } from '../model/batches.js'
import { anonymous } from '../model/service.js'
import { createJsonRpcClient } from './jsonrpc/client.js'
import { readSse, type SseEvent } from './sse-reader.js'

async function read(text: string, pieceLength = 7): Promise<SseEvent[]> {
  const bytes = new TextEncoder().encode(text)
  const pieces: Uint8Array[] = []
  for (let from = 0; from < bytes.length; from += pieceLength) pieces.push(bytes.subarray(from, from + pieceLength))
  const events: SseEvent[] = []
  for await (const batch of readSse(ReadableStream.from(pieces), { maxEventBytes: 1000 })) events.push(...batch)
  return events
}

describe('readSse', () => {
  it('reads every field of an event stream (RM-STR-5)', async () => {
    const text = [
      '\uFEFF: a comment\n\n',
      'id: 1\nevent: message\ndata: {"a":1}\n\n',
      'data: one\r\ndata: two\r\n\r\n',
      'data:no space\r\r',
      'retry: 1000\nunknown: field\ndata: ünïcode 😀\n\n',
      'data: broken off',
    ].join('')
    for (const pieceLength of [1, 2, 3, 5, 1000]) {
      expect(await read(text, pieceLength), `pieces of ${pieceLength}`).toEqual([
        { id: '1', event: 'message', data: '{"a":1}' },
        expect.objectContaining({ data: 'one\ntwo' }),
        expect.objectContaining({ data: 'no space' }),
        expect.objectContaining({ data: 'ünïcode 😀' }),
      ])
    }
  })

  it('rejects an event without end', async () => {
    await expect(read(`data: ${'x'.repeat(5000)}`, 100)).rejects.toMatchObject({ failure: 'refused' })
  })
})

describe('the limit of an event', () => {
  it('counts all bytes, also those of empty data lines with comments between', async () => {
    for (const line of ['data:\n', 'data:\n:\n', 'id: 1\n']) {
      let sent = 0
      async function* lines() {
        for (; sent < 100_000; sent += line.length) yield new TextEncoder().encode(line)
      }
      const reading = async () => {
        for await (const _ of readSse(ReadableStream.from(lines()), { maxEventBytes: 1000 }));
      }
      await expect(reading(), line).rejects.toMatchObject({ failure: 'refused' })
      expect(sent, line).toBeLessThan(1100)
    }
  })

  it('does not count comments between events, however many there are', async () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const comment = `: still here${end}${end}`
      expect(
        await read(`${comment.repeat(1000)}data: 1${end}${end}: end`, comment.length),
        JSON.stringify(end),
      ).toMatchObject([{ data: '1' }])
    }
  })
})

describe('a stream of the client', () => {
  it('has no empty batch, which layers would take for a success', async () => {
    const greeting = { jsonrpc: '2.0', id: 1, result: { status: 'resubscription initiated' } }
    const facts = { newId: () => 'made' }
    for (const isStream of [false, true]) {
      const handle = () =>
        isStream
          ? new Response(`data: ${JSON.stringify(greeting)}\n\n`, { headers: { 'content-type': 'text/event-stream' } })
          : Response.json(greeting)
      const send = createSender({ namedOrigins: [], handle })
      const client = createJsonRpcClient({ url: 'http://agent.example/', dialect, send, facts })
      const batches: unknown[] = []
      for await (const batch of batchesOf(client.subscribeToTask({ id: 't' }, { caller: anonymous })))
        batches.push(batch)
      expect(batches).toEqual([])
    }
  })
})
