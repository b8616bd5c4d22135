import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { fromGeneric } from '../model/generic-service.js'
import { anonymous, type CallContext } from '../model/service.js'
import { TransportError } from '../model/transport-error.js'
import { InstanceFallback } from './instance-fallback.js'

const context: CallContext = { caller: anonymous, dialect: 'v1' }
const notFound = () => new A2AError('TASK_NOT_FOUND', 'No task t')
const away = () => new TransportError('unreachable', 'No server listens', { wasSent: false })

/** An instance that has the task, or fails. */
function instance(name: string, failure?: () => Error) {
  const calls: string[] = []
  const service = fromGeneric({
    async unary(operation) {
      calls.push(operation)
      if (failure) throw failure()
      return { id: 't', contextId: name }
    },
    async *streaming(operation) {
      calls.push(operation)
      if (failure) throw failure()
      yield { event: { message: { messageId: name, role: 'ROLE_AGENT', parts: [] } } }
    },
  })
  return { address: `http://${name}`, calls, service }
}

const ask = (...all: ReturnType<typeof instance>[]) =>
  new InstanceFallback(all, () => undefined).service().getTask({ id: 't' }, context)

describe('InstanceFallback', () => {
  it('asks all instances for a task that the first one does not know', async () => {
    expect(await ask(instance('a', notFound), instance('b'))).toMatchObject({ contextId: 'b' })
    expect(await ask(instance('a', away), instance('b', notFound), instance('c'))).toMatchObject({ contextId: 'c' })
  })

  it('does not report a missing task while an instance is unreachable', async () => {
    await expect(ask(instance('a', away), instance('b', notFound))).rejects.toThrow('No server listens')
    await expect(ask(instance('a', notFound), instance('b', notFound))).rejects.toThrow('No task t')
  })

  it('stays at the instance that answered', async () => {
    const [a, b] = [instance('a', away), instance('b')]
    const service = new InstanceFallback([a, b], () => undefined).service()
    await service.getTask({ id: 't' }, context)
    await service.getTask({ id: 't' }, context)
    expect([a.calls.length, b.calls.length]).toEqual([1, 2])
    const other = instance('d')
    await expect(
      ask(
        instance('c', () => new A2AError('INVALID_PARAMS', 'no')),
        other,
      ),
    ).rejects.toThrow('no')
    expect(other.calls).toEqual([])
  })

  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
  const letters = ['a', 'b', 'c', 'd']
  const sentWith = async (idempotencyKey: string, names: readonly string[], isAway = (_: string) => false) => {
    const all = names.map((name) => instance(name, isAway(name) ? away : undefined))
    const service = new InstanceFallback(all, () => undefined).service()
    for await (const _ of service.sendStreamingMessage({ message }, { ...context, idempotencyKey }));
    await service.getTask({ id: 't' }, context)
    return all.find(({ calls }) => calls.join() === 'sendStreamingMessage,getTask')?.address
  }

  it('sends a key to the same instance in any order, and later calls about its task too', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `run:step:${n}`)
    const places = await Promise.all(keys.map((key) => sentWith(key, letters)))
    expect(await Promise.all(keys.map((key) => sentWith(key, letters.toReversed())))).toEqual(places)
    // Every instance receives some keys.
    expect(new Set(places)).toEqual(new Set(letters.map((name) => `http://${name}`)))
    // Adding or removing an instance does not move the keys of the others.
    const fewer = await Promise.all(keys.map((key) => sentWith(key, ['c', 'b', 'a'])))
    expect(fewer.filter((place, n) => place !== places[n] && places[n] !== 'http://d')).toEqual([])
    const onwards = await Promise.all(keys.map((key) => sentWith(key, letters, (name) => name === 'd')))
    expect(onwards).toEqual(fewer)
  })

  it('ignores the key of a message to an existing task', async () => {
    const all = letters.map((name) => instance(name))
    const service = new InstanceFallback(all, () => undefined).service()
    for (const idempotencyKey of ['1', '2', '3', '4', '5', '6'])
      await service.sendMessage({ message: { ...message, taskId: 't' } }, { ...context, idempotencyKey })
    expect(all.map(({ calls }) => calls.length)).toEqual([6, 0, 0, 0])
  })
})
