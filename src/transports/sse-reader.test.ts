import { describe, expect, it } from 'vitest'
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
