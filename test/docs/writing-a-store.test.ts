/** The example of docs/writing-a-store.md passes the suite of stores, and lacks what the page lists for absent contracts. */
import { readFileSync } from 'node:fs'
import { agent, type Handler, serve, working } from 'dragoman'
import { createEngine, type Store } from 'dragoman/engine'
import { createRegistry } from 'dragoman/registry'
import { storeContract, type TestAgentOptions, type TestRunner, testAgent } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { guardedStore } from '../../src/engine/guarded-store.js'
import { completeStore, optionalMembers, supports } from '../../src/stores/complete-store.js'
import { mapStore } from './map-store.js'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

it('docs/writing-a-store.md shows the store of this folder, in less than 150 lines', () => {
  const example = read('map-store.ts')
  expect(read('../../docs/writing-a-store.md')).toContain(`\`\`\`ts\n${example}\`\`\``)
  expect(example.split('\n').length).toBeLessThan(150)
})

describe('a store on a map', () => storeContract({ describe, it }, async () => mapStore(), { absent: optionalMembers }))

async function* sayHello() {
  yield working()
  yield 'hello'
}

describe('a store with the core alone', () => {
  const hello = (handler: Handler = sayHello) =>
    agent({ name: 'Hello', capabilities: { pushNotifications: true } }, handler)
  const caller = { caller: { id: 'ann' }, tenant: '', dialect: 'v1' } as const

  it('runs tasks and streams their events', async () => {
    await using t = await testAgent(hello(), { store: mapStore() })
    const kinds: string[] = []
    for await (const update of t.client.stream('hi')) kinds.push(...Object.keys(update))
    expect(kinds).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate'])
    const { tasks } = await t.client.listTasks({})
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
  })

  it('has no push notifications: neither in the card nor in calls', async () => {
    await using t = await testAgent(hello(), { store: mapStore() })
    expect(t.client.card.capabilities.pushNotifications).toBe(false)
    expect(t.log).toMatchObject([{ level: 'warn', message: expect.stringContaining('`deliveries`'), agent: 'Hello' }])
    const config = { taskId: 't1', url: 'https://hook.example/' }
    await expect(t.client.createTaskPushNotificationConfig(config)).rejects.toMatchObject({
      code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    })
  })

  it('answers that push notifications are not supported, which is no failure of the store', async () => {
    const failures: unknown[] = []
    const { deliveries } = guardedStore(completeStore(mapStore()), (error) => failures.push(error))
    const config = { id: 'c1', url: 'https://hook.example/' } as never // refused before it is read
    await expect(deliveries.putConfig({ agent: 'a', id: 't1' }, config)).rejects.toMatchObject({
      code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    })
    expect(failures).toEqual([])
  })

  it.each<[string, NonNullable<Store['runnable']>]>([
    ['no tasks', async () => []],
    ['the tasks of another agent', async () => [{ agent: 'b', id: 't2' }]],
    ['the tasks of all agents', async () => ['t1', 't2'].map((id) => ({ agent: id === 't1' ? 'a' : 'b', id }))],
  ])('does not pass the suite if `runnable` returns %s', async (_, runnable) => {
    const cases: (() => Promise<void>)[] = []
    const runner = {
      describe: (_: string, body: () => void) => body(),
      it: (name: string, body: () => Promise<void>) => name.includes('earlier process') && cases.push(body),
    }
    storeContract(runner as TestRunner, async () => ({ ...mapStore(), runnable }))
    expect(cases).toHaveLength(1)
    await expect(cases[0]?.()).rejects.toThrow('deep')
  })

  it('fails at the next start what ran when the process died', async () => {
    const tasks: Parameters<typeof mapStore>[0] = new Map()
    const endless = hello(async function* () {
      yield working()
      await new Promise(() => undefined)
      yield 'never'
    })
    const first = createEngine(endless, { store: mapStore(tasks) })
    await first.start()
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
    const sent = await first.sendMessage({ message, configuration: { returnImmediately: true } }, caller)
    const id = 'task' in sent ? sent.task.id : ''
    // The first engine is not closed: its process is dead.
    const second = createEngine(endless, { store: mapStore(tasks) })
    await second.start()
    expect((await second.getTask({ id }, caller)).status.state).toBe('TASK_STATE_FAILED')
    await second.drain(0)
  })

  it.each<[string, string, TestAgentOptions]>([
    ['limits.bytesPerCaller', 'bytesOf', { limits: { bytesPerCaller: 1000 } }],
    ['advanced.retention', 'expire', { advanced: { retention: { endedTasksMs: 1000 } } }],
    ['advanced.retention', 'expire', { advanced: { retention: { maxEndedTasks: 1 } } }],
    ['advanced.retention', 'expire', { advanced: { retention: { endedEventsMs: 1000 } } }],
  ])('is refused with `%s`, which needs `%s`', async (option, member, options) => {
    const text = `\`${option}\` has no effect: the store has no \`${member}\`. Implement \`${member}\`, or remove the option`
    await expect(testAgent(hello(), { ...options, store: mapStore() })).rejects.toThrow(new TypeError(text))
    await expect(serve(hello(), { ...options, port: 0, store: mapStore() })).rejects.toThrow(text)
    const able = { ...mapStore(), [member]: async () => (member === 'expire' ? { tasks: 0, keys: 0 } : 0) }
    await using t = await testAgent(hello(), { ...options, store: able })
    expect((await t.client.ask('hi')).text).toBe('hello')
  })

  it('serves with options that limit and remove nothing', async () => {
    const options = { limits: { bytesPerCaller: Number.POSITIVE_INFINITY }, advanced: { retention: { sweepMs: 1000 } } }
    await using t = await testAgent(hello(), { ...options, store: mapStore() })
    expect((await t.client.ask('hi')).text).toBe('hello')
  })

  it('is refused by a registry', async () => {
    await expect(createRegistry({ store: mapStore() })).rejects.toThrow('This store keeps no records')
  })

  it('shares leases and watchers between servers of one process', () => {
    const store = mapStore()
    expect(completeStore(store)).toBe(completeStore(store))
    const complete = completeStore(store)
    expect(completeStore(complete)).toBe(complete)
    expect(optionalMembers.filter((member) => supports(store, member))).toEqual([])
    expect(optionalMembers.filter((member) => supports(complete, member))).toEqual([])
  })

  it('runs a send once per idempotency key, until the process ends', async () => {
    const store: Store = mapStore()
    const engine = createEngine(hello(), { store })
    await engine.start()
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const
    const send = () => engine.sendMessage({ message }, { ...caller, idempotencyKey: 'k1' })
    const sent = await Promise.all([send(), send(), send()])
    expect(new Set(sent.map((each) => 'task' in each && each.task.id)).size).toBe(1)
    await engine.drain(0)
  })
})
