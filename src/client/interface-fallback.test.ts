import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import type { AgentService } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import { InterfaceFallback } from './interface-fallback.js'
import { all, context, numbered, peer, play, status, taskIn } from './scripted.fixture.js'

const unknownMethod = new A2AError('METHOD_NOT_FOUND', 'Method not found')
const noSuchPage = new TransportError('bad-answer', 'HTTP 404: there is no JSON-RPC endpoint at this address')
const done = taskIn('TASK_STATE_COMPLETED')
const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }

function failing(error: Error = unknownMethod): AgentService {
  const fail = () => Promise.reject(error)
  return peer({ getTask: fail, cancelTask: fail, sendMessage: fail, sendStreamingMessage: () => play([], error) })
}

function fallbackTo(...services: AgentService[]) {
  return fallbackAt(services.map((service, place) => [`http://agent${place}/`, service]))
}

function fallbackAt(places: readonly (readonly [url: string, service: AgentService])[]) {
  const fallbacks: string[] = []
  const fallback = new InterfaceFallback(
    places.map(([url, service]) => ({ service, choice: { dialect: 'v1', binding: 'JSONRPC', url, reasons: [] } })),
    { onFallback: (choice, why) => fallbacks.push(`${choice.url} ${why}`) },
  )
  return { fallback, fallbacks, service: fallback.service() }
}

describe('InterfaceFallback', () => {
  it.each([unknownMethod, noSuchPage])(
    'uses the next interface if the first does not understand the call: %s',
    async (error) => {
      const { service, fallbacks, fallback } = fallbackTo(failing(error), peer({ getTask: async () => done }))
      expect(await service.getTask({ id: 't1' }, context)).toBe(done)
      expect(fallback.current.choice.url).toBe('http://agent1/')
      expect(fallbacks).toEqual([`http://agent1/ ${error.message}`])
    },
  )

  it('falls back for streams that have not started', async () => {
    const events = numbered(1, { task: taskIn('TASK_STATE_WORKING') }, status('TASK_STATE_COMPLETED'))
    const { service } = fallbackTo(failing(), peer({ sendStreamingMessage: () => play(events) }))
    expect(await all(service.sendStreamingMessage({ message }, context))).toHaveLength(2)
  })

  it('skips no interface when concurrent calls fail', async () => {
    const { service, fallbacks } = fallbackTo(
      failing(),
      peer({ getTask: async () => done }),
      peer({ getTask: () => Promise.reject(new Error('The third interface was called')) }),
    )
    const answers = await Promise.all([1, 2, 3].map(() => service.getTask({ id: 't1' }, context)))
    expect(answers).toEqual([done, done, done])
    expect(fallbacks).toHaveLength(1)
  })

  it('keeps an interface that understood a call', async () => {
    const { service, fallback } = fallbackTo(
      peer({ getTask: async () => done, cancelTask: () => Promise.reject(unknownMethod) }),
      peer({}),
    )
    await service.getTask({ id: 't1' }, context)
    await expect(service.cancelTask({ id: 't1' }, context)).rejects.toBe(unknownMethod)
    expect(fallback.current.choice.url).toBe('http://agent0/')
  })

  it('reports the error of the best interface if none understands the call', async () => {
    const { service, fallback, fallbacks } = fallbackTo(failing(), failing(noSuchPage))
    await expect(service.getTask({ id: 't1' }, context)).rejects.toBe(unknownMethod)
    expect([fallback.current.choice.url, fallbacks]).toEqual(['http://agent0/', []])
  })

  it('counts an error of the agent as understanding', async () => {
    const missing = new A2AError('TASK_NOT_FOUND', 'No task t1')
    const { service, fallback } = fallbackTo(failing(), peer({ getTask: () => Promise.reject(missing) }))
    await expect(service.getTask({ id: 't1' }, context)).rejects.toBe(missing)
    expect(fallback.current.choice.url).toBe('http://agent1/')
  })

  const notListening = new TransportError('unreachable', 'Nothing listens there', { wasSent: false })

  it('uses the next interface if nothing was sent, for sends too', async () => {
    const task = { task: done }
    const { service, fallbacks } = fallbackTo(failing(notListening), peer({ sendMessage: async () => task }))
    expect(await service.sendMessage({ message }, context)).toBe(task)
    expect(fallbacks).toEqual(['http://agent1/ Nothing listens there'])
    const events = numbered(1, { task: taskIn('TASK_STATE_WORKING') }, status('TASK_STATE_COMPLETED'))
    const streamed = fallbackTo(failing(notListening), peer({ sendStreamingMessage: () => play(events) }))
    expect(await all(streamed.service.sendStreamingMessage({ message }, context))).toHaveLength(2)
  })

  it('does not try an unreachable origin again', async () => {
    const silence = peer({ getTask: () => Promise.reject(new Error('It was asked')) })
    const { service, fallback } = fallbackAt([
      ['http://agent:1/rpc', failing(notListening)],
      ['http://agent:1/rest', silence],
      ['http://agent:2/', peer({ getTask: async () => done })],
    ])
    expect(await service.getTask({ id: 't1' }, context)).toBe(done)
    expect(fallback.current.choice.url).toBe('http://agent:2/')
    await expect(fallbackTo(failing(notListening)).service.getTask({ id: 't1' }, context)).rejects.toBe(notListening)
  })

  it('reports the error of an interface that could be reached', async () => {
    const { service } = fallbackTo(failing(notListening), failing(unknownMethod))
    await expect(service.getTask({ id: 't1' }, context)).rejects.toBe(unknownMethod)
  })

  const outages = [
    new TransportError('unreachable', 'The connection was closed'),
    new TransportError('bad-answer', 'HTTP 502 with no answer of the protocol', { isRetryable: true }),
    new A2AError('UNAVAILABLE', 'Shutting down'),
  ]

  it.each(outages)('uses the next interface for reads and for sends with a key: %s', async (outage) => {
    const task = { task: done }
    const well = peer({ getTask: async () => done, sendMessage: async () => task })
    expect(await fallbackTo(failing(outage), well).service.getTask({ id: 't1' }, context)).toBe(done)
    const keyed = { ...context, idempotencyKey: 'k1' }
    expect(await fallbackTo(failing(outage), well).service.sendMessage({ message }, keyed)).toBe(task)
    const events = numbered(1, { task: taskIn('TASK_STATE_WORKING') }, status('TASK_STATE_COMPLETED'))
    const streamed = fallbackTo(failing(outage), peer({ sendStreamingMessage: () => play(events) }))
    expect(await all(streamed.service.sendStreamingMessage({ message }, keyed))).toHaveLength(2)
  })

  it.each(outages)('does not try another interface of the origin that has the outage: %s', async (outage) => {
    const well = peer({ getTask: async () => done })
    const { service } = fallbackAt([
      ['http://agent/rpc', failing(outage)],
      ['http://agent/rest', well],
    ])
    await expect(service.getTask({ id: 't1' }, context)).rejects.toBe(outage)
  })

  it.each(outages)('does not repeat a send without a key that may have arrived: %s', async (outage) => {
    const { service } = fallbackTo(failing(outage), peer({}))
    await expect(service.sendMessage({ message }, context)).rejects.toBe(outage)
    await expect(all(service.sendStreamingMessage({ message }, context))).rejects.toBe(outage)
  })
})
