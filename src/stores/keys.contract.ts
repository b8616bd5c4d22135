/** Idempotency keys: a send happens once. */
import assert from 'node:assert/strict'
import { append, creation, ending, key, message } from './contract-steps.js'
import type { Check, TestRunner } from './store.contract.js'
import type { Append } from './store.js'

export function keysContract(describe: TestRunner['describe'], check: Check): void {
  describe('idempotency keys', () => {
    const idempotency = { key: 'k1', digest: 'd1', ttlMs: 5000 }
    const keyed = (id: string): Append => ({ ...creation(id), idempotency })

    check('make a send happen once', async (store) => {
      assert.equal((await store.append(keyed('t1'))).result, 'ok')
      assert.equal((await store.append(keyed('t2'))).result, 'key-taken')
      assert.equal(await store.load(key('t2')), undefined)
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 1 })
    })

    check('are looked at before the id of a new task: a send that is repeated is told so', async (store) => {
      await store.append(keyed('t1'))
      assert.equal((await store.append(keyed('t1'))).result, 'key-taken')
    })

    check('remember where a follow-up was accepted', async (store) => {
      await store.append(creation('t1'))
      const accepted = { accepted: { turn: 2, message: message('more') } }
      const step = { ...append('t1', 3, [accepted]), idempotency }
      assert.equal((await store.append(step)).result, 'ok')
      const again = { ...append('t1', 4, [accepted]), idempotency }
      assert.equal((await store.append(again)).result, 'key-taken')
      const scope = { agent: 'a', tenant: '', owner: 'ann' }
      assert.deepEqual(await store.findKey(scope, 'k1'), { taskId: 't1', digest: 'd1', seq: 4 })
    })

    check(
      'go with their task',
      async (store, clock) => {
        await store.append(keyed('t1'))
        await store.append(ending('t1', 3, clock.ms))
        clock.ms += 1000
        await store.expire('a', { endedTasksMs: 1, limit: 10 })
        await store.append(creation('t2', undefined, 'bob'))
        assert.equal(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k1'), undefined)
      },
      ['expire'],
    )

    check('belong to one owner, tenant and agent', async (store) => {
      await store.append(keyed('t1'))
      for (const scope of [
        { agent: 'a', tenant: '', owner: 'bob' },
        { agent: 'a', tenant: 'x', owner: 'ann' },
        { agent: 'b', tenant: '', owner: 'ann' },
      ]) {
        assert.equal(await store.findKey(scope, 'k1'), undefined)
      }
    })

    check(
      'are forgotten after their time, with the Message they kept',
      async (store, clock) => {
        const step = keyed('t1')
        await store.append({ ...step, events: step.events.slice(0, 2), visibility: 'provisional' })
        await store.append({ ...append('t1', 2, [{ message: message('hi') }]), visibility: 'message' })
        assert.equal((await store.load(key('t1')))?.record.visibility, 'message')
        clock.ms += 6000
        assert.equal(await store.findKey({ agent: 'a', tenant: '', owner: 'ann' }, 'k1'), undefined)
        await store.append(creation('newer'))
        await store.expire('a', { limit: 100 })
        assert.equal(await store.load(key('t1')), undefined)
        assert.equal((await store.append(keyed('t3'))).result, 'ok')
      },
      ['expire'],
    )
  })
}
