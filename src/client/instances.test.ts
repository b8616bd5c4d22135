import { describe, expect, it } from 'vitest'
import { A2AError } from '../model/errors.js'
import { fromGeneric } from '../model/generic-service.js'
import { anonymous, type CallContext } from '../model/service.js'
import { TransportError } from '../transports/transport-error.js'
import { Instances } from './instances.js'

const context: CallContext = { caller: anonymous, dialect: 'v1' }
const notFound = () => new A2AError('TASK_NOT_FOUND', 'No task t')
const away = () => new TransportError('unreachable', 'Nobody listens', { wasSent: false })

/** An instance that has the task, or fails. */
function instance(name: string, failure?: () => Error) {
  const calls: string[] = []
  const service = fromGeneric({
    async unary(operation) {
      calls.push(operation)
      if (failure) throw failure()
      return { id: 't', contextId: name }
    },
    async *streaming() {},
  })
  return { name, calls, service }
}

const ask = (...all: ReturnType<typeof instance>[]) =>
  new Instances(all, () => undefined).service().getTask({ id: 't' }, context)

describe('instances of one agent', () => {
  it('are all asked for a task that is not where it is looked for first', async () => {
    expect(await ask(instance('a', notFound), instance('b'))).toMatchObject({ contextId: 'b' })
    expect(await ask(instance('a', away), instance('b', notFound), instance('c'))).toMatchObject({ contextId: 'c' })
  })

  it('do not say that a task is gone while one of them cannot be asked', async () => {
    await expect(ask(instance('a', away), instance('b', notFound))).rejects.toThrow('Nobody listens')
    await expect(ask(instance('a', notFound), instance('b', notFound))).rejects.toThrow('No task t')
  })

  it('are not asked again after an answer, and calls stay where they were answered', async () => {
    const [a, b] = [instance('a', away), instance('b')]
    const service = new Instances([a, b], () => undefined).service()
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
})
