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
