import type { CallView, WireLine } from 'dragoman/console'
import { describe, expect, it } from 'vitest'
import { framesOf } from './wire-frames.js'
import { asCurl, asTypescript } from './wire-snippets.js'

const line = (more: Partial<WireLine>): WireLine => ({
  direction: 'event',
  exchange: 'one',
  binding: 'JSONRPC',
  what: '',
  at: 0,
  ...more,
})

describe('framesOf', () => {
  it('extracts events from chunks with any boundaries', () => {
    const pieces = ['id: 1\ndata: {"a"', ':1}\n\n:\n\nid: 2\r\nda', 'ta: {"b":2}\r\n\r\n', 'data: unfinished']
    const frames = framesOf(pieces.map((body) => line({ body })))
    expect(frames.map(({ body }) => body)).toEqual(['id: 1\n{\n  "a": 1\n}', ':', 'id: 2\n{\n  "b": 2\n}'])
  })

  it('leaves other bodies unchanged, clipped or not', () => {
    const lines = [
      line({ binding: 'GRPC', body: '{"a": … (9 characters in all)' }),
      line({ binding: 'GRPC', body: {} }),
    ]
    expect(framesOf(lines)).toEqual(lines)
  })

  it('separates exchanges and leaves other lines unchanged', () => {
    const request = line({ direction: 'request', body: '{}' })
    const frames = framesOf([
      request,
      line({ body: 'data: 1' }),
      line({ exchange: 'two', body: 'data: 2\n\n' }),
      line({ body: '\n\n' }),
    ])
    expect(frames[0]).toBe(request)
    expect(frames.slice(1).map(({ exchange, body }) => [exchange, body])).toEqual([
      ['two', '2'],
      ['one', '1'],
    ])
  })
})

describe('snippets', () => {
  const call = (more: Partial<CallView>): CallView => ({
    id: 'call',
    ref: 'http://agent',
    operation: 'sendMessage',
    dialect: 'v1',
    binding: 'JSONRPC',
    url: 'http://agent/',
    startedAt: '',
    lines: 1,
    bytes: 1,
    left: 0,
    wire: [
      line({ direction: 'request', binding: 'card', what: 'GET http://agent/card' }),
      line({
        direction: 'request',
        what: 'POST http://agent/',
        headers: { authorization: '[redacted]', 'A2A-Version': '1.0' },
        body: JSON.stringify({ method: 'SendMessage', params: { message: { parts: [{ text: "it's" }] } } }),
      }),
    ],
    ...more,
  })

  it('creates a curl command for the call, with placeholders for secrets and shell quoting', () => {
    const text = asCurl(call({}))
    expect(text).toContain("curl -N -X 'POST' 'http://agent/'")
    expect(text).toContain(`-H 'authorization: '"$SECRET"`)
    expect(text).toContain("it'\\''s")
    expect(text).not.toContain('card')
  })

  it('quotes all text of agents for the shell', () => {
    const written = "`touch a`;$(touch b);'touch c"
    const asked = (more: Partial<WireLine>) => [line({ direction: 'request', ...more })]
    for (const text of [
      asCurl(call({ binding: 'GRPC', url: `dns://agent${written}`, wire: asked({ what: written, body: {} }) })),
      asCurl(call({ wire: asked({ what: `${written} ${written}`, headers: { [written]: written }, body: written }) })),
    ]) {
      expect(text.replaceAll("'\\''", '').replaceAll(/'[^']*'/g, '')).not.toMatch(/[`$;]|touch/)
      expect(text).toContain('touch c')
    }
  })

  it('creates a TypeScript program', () => {
    expect(asTypescript(call({}))).toContain('console.log(JSON.stringify(await agent.sendMessage({')
    const followed = asTypescript(call({ operation: 'subscribeToTask', taskId: 'task' }))
    expect(asTypescript(call({}))).toContain('headers: { "authorization": process.env.SECRET')
    expect(followed).toContain('for await (const { event } of agent.subscribeToTask({\n  "id": "task"\n}))')
  })
})
