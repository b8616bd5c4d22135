/** The official SDK's gRPC clients, of both versions, as peers. */

import { GrpcTransportFactory } from 'a2a-sdk-v1/client/grpc'
import { GrpcTransportFactory as OldTransportFactory } from 'a2a-sdk-v03/client/grpc'
import { describe, expect, it } from 'vitest'
import { v0_3 } from '../../dialects/v0_3/index.js'
import { v1 } from '../../dialects/v1/index.js'
import { testEngine } from '../../engine/engine.fixture.js'
import { artifact, type Handler } from '../../index.js'
import { testGrpc } from './grpc.fixture.js'

const echo: Handler = async function* ({ message }) {
  yield artifact('answer', message.parts)
  yield artifact('answer', 'more', { append: true })
}

/** All events of a stream. */
async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

describe('the client of the official SDK', () => {
  it('1.3 sends, streams, reads and decodes errors', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v1)
    const url = `127.0.0.1:${server.port}`
    const client = await new GrpcTransportFactory().create(url, {
      supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' }],
    } as never) // the SDK reads no other member of the card
    const parts = [
      { content: { $case: 'text', value: 'hi' }, metadata: { n: [1, null, {}] }, filename: '', mediaType: '' },
      { content: { $case: 'raw', value: Buffer.from([1, 2]) }, metadata: undefined, filename: 'a', mediaType: '' },
      { content: { $case: 'data', value: { a: [null, 1.5] } }, metadata: undefined, filename: '', mediaType: '' },
    ]
    const request = {
      tenant: '',
      message: { messageId: 'm', role: 1, parts, contextId: '', taskId: '', extensions: [], referenceTaskIds: [] },
    } as never // the SDK's serialiser accepts this; its types require more
    const sent = (await client.sendMessage(request)) as { id: string; artifacts: { parts: object[] }[] }
    expect(sent.artifacts[0]?.parts.slice(0, 3)).toMatchObject(parts)
    const kinds = (await all(client.sendMessageStream(request))).map(({ payload }) => payload?.$case)
    expect(kinds).toEqual(['task', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'])
    expect(await client.getTask({ tenant: '', id: sent.id } as never)).toMatchObject({
      id: sent.id,
      status: { state: 3 },
    })
    await expect(client.getTask({ tenant: '', id: 'none' } as never)).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    })
  })

  it('0.3 sends, streams, reads, subscribes and decodes errors', async () => {
    await using engine = await testEngine(echo, 'memory')
    await using server = await testGrpc(engine, v0_3)
    const client = await new OldTransportFactory().create(`127.0.0.1:${server.port}`, {} as never) // the card is not read
    const parts = [
      { kind: 'text', text: 'hi' },
      { kind: 'data', data: { a: [1, 'x', {}] } },
      { kind: 'file', file: { bytes: 'AQID', mimeType: 'text/plain' } },
    ]
    const request = { message: { kind: 'message', messageId: 'm', role: 'user', parts } } as never // `kind` is a literal there
    const sent = (await client.sendMessage(request)) as { id: string; artifacts: { parts: object[] }[] }
    expect(sent.artifacts[0]?.parts).toMatchObject([...parts, { kind: 'text', text: 'more' }])
    const kinds = (await all(client.sendMessageStream(request))).map(({ kind }) => kind)
    expect(kinds).toEqual(['task', 'artifact-update', 'artifact-update', 'status-update'])
    expect(await client.getTask({ id: sent.id })).toMatchObject({ id: sent.id, status: { state: 'completed' } })
    expect(await all(client.resubscribeTask({ id: sent.id }))).toMatchObject([{ kind: 'task', id: sent.id }])
    await expect(client.getTask({ id: 'none' })).rejects.toMatchObject({ name: 'TaskNotFoundError' })
  })
})
