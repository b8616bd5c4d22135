/** Encodings of file content, built from R3-PB-12; nothing here was recorded from a peer. */
import { describe, expect, it } from 'vitest'
import type { Task } from '../../model/task.js'
import type { GrpcForm, RestForm } from '../dialect.js'
import { v0_3Client } from './client.js'
import { v0_3 } from './index.js'

const rest = v0_3.rest as RestForm
const grpc = v0_3.grpc as GrpcForm

/** 00 01 ff fe in the model, which is also its ProtoJSON, and the ProtoJSON of its base64 text. */
const raw = 'AAH//g=='
const asText = btoa(raw)

function by(userAgent: string | null) {
  return { newId: () => 'never', header: (name: string) => (name === 'user-agent' ? userAgent : null) }
}

const message = (content: string) => ({
  messageId: 'm',
  role: 'ROLE_USER',
  content: [{ file: { fileWithBytes: content } }],
})

function contentIn(wire: unknown): string | undefined {
  return /"fileWithBytes":"([^"]*)"/.exec(JSON.stringify(wire))?.[1]
}

function read(content: string, userAgent: string | null): readonly unknown[] {
  const facts = by(userAgent)
  const decoded: unknown[] = [
    rest.operations.sendMessage?.decode({ message: message(content) }, facts),
    grpc.operations.sendStreamingMessage?.decode({ request: message(content) }, facts),
  ]
  return decoded.map((request) => (request as { message: { parts: [{ raw: string }] } }).message.parts[0].raw)
}

const task: Task = {
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'a', parts: [{ raw }] }],
}

function written(userAgent: string | null): readonly unknown[] {
  const facts = by(userAgent)
  const call = { operation: 'subscribeToTask', params: {}, newId: facts.newId, facts } as const
  return [
    JSON.parse(rest.operations.getTask?.encode(task, {}, facts) ?? ''),
    grpc.operations.getTask?.encode(task, {}, facts),
    JSON.parse(rest.createStreamEncoder(call).encode({ event: { task } }) as string),
    grpc.createStreamEncoder(call)({ event: { task } }),
  ].map(contentIn)
}

describe('file content', () => {
  it.each(['node', 'undici', 'Deno/2.5.4', 'Bun/1.3.0', 'grpc-node-js/1.14.0', 'my-app/1.0 grpc-node-js/1.14.0'])(
    'is raw to and from %s',
    (userAgent) => {
      expect(read(raw, userAgent)).toEqual([raw, raw])
      expect(read(asText, userAgent)).toEqual([asText, asText])
      expect(written(userAgent)).toEqual([raw, raw, raw, raw])
    },
  )

  it.each([
    'dragoman/0.1.0',
    'dragoman/0.1.0 grpc-node-js/1.14.0',
    'python-httpx/0.28.1',
    'Python/3.12 aiohttp/3.10.1',
    'grpc-python-asyncio/1.85.1 grpc-c/46.0.0 (linux; chttp2)',
    'Go-http-client/1.1',
    'grpc-go/1.75.0',
    'Java-http-client/17.0.9',
    'grpc-java-netty/1.75.0',
  ])('is base64 text to and from %s', (userAgent) => {
    expect(read(asText, userAgent)).toEqual([raw, raw])
    expect(written(userAgent)).toEqual([asText, asText, asText, asText])
    // Text in the other alphabet or without padding is base64 too; bytes that are not text are raw.
    expect(read(btoa('AAH__g'), userAgent)).toEqual([raw, raw])
    expect(read(raw, userAgent)).toEqual([raw, raw])
    expect(read('', userAgent)).toEqual(['', ''])
  })

  it.each([null, '', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', 'curl/8.5.0', `${'x'.repeat(300)} node`])(
    'from %j is guessed',
    (userAgent) => {
      expect(read(asText, userAgent)).toEqual([raw, raw])
      expect(read(raw, userAgent)).toEqual([raw, raw])
      expect(written(userAgent)).toEqual([asText, asText, asText, asText])
    },
  )

  it.each(['hello', 'AAH__g==', 'AAH//g', 'AAH//h==', 'abc\n', '{"a":1}'])(
    'that is not canonical base64 text is guessed as raw: %j',
    (content) => {
      expect(read(btoa(content), null)).toEqual([btoa(content), btoa(content)])
    },
  )

  it('in the shape of JSON-RPC is never base64 text', () => {
    const sent = { messageId: 'm', role: 'user', parts: [{ kind: 'file', file: { bytes: asText } }] }
    const request = rest.operations.sendMessage?.decode({ message: sent }, by('python-httpx/0.28.1'))
    expect(request).toMatchObject({ message: { parts: [{ raw: asText }] } })
  })
})

describe('file content of the client', () => {
  const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ raw }] } } as const
  const answer = (content: string) => ({
    task: {
      id: 't',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'a', parts: [{ file: { fileWithBytes: content } }] }],
    },
  })

  it.each([
    ['by default', undefined, asText, [raw, raw]],
    ['as base64 text', 'base64', asText, [raw, raw]],
    ['raw', 'raw', raw, [asText, raw]],
  ] as const)('is written and read %s', (_how, fileBytes, sent, [fromText, fromRaw]) => {
    const facts = { newId: () => 'made', fileBytes }
    for (const form of [v0_3Client.rest, v0_3Client.grpc]) {
      const codec = form?.operations.sendMessage
      expect(contentIn(codec?.encode(request, facts))).toBe(sent)
      const received = (content: string) => {
        const decoder = form?.createStreamDecoder({ operation: 'sendStreamingMessage', request, sent: {}, facts })
        const [event] = decoder?.decode({ data: answer(content) }) ?? []
        expect(codec?.decode(answer(content), request, facts)).toEqual(event)
        return event && 'task' in event ? event.task.artifacts?.[0]?.parts[0] : undefined
      }
      expect(received(asText)).toEqual({ raw: fromText })
      expect(received(raw)).toEqual({ raw: fromRaw })
    }
  })
})
