import { describe, expect, it } from 'vitest'
import type { StreamItem } from '../model/service.js'
import { append, chunk, creation, key } from '../stores/contract-steps.js'
import { MemoryStore } from '../stores/memory.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { collect, openTestStore, outline, plain, storeKinds, taskIn, testEngine, textIn } from './engine.fixture.js'
import { Topic } from './following/topic.js'
import { artifact, ask, working } from './yields.js'

async function* letters() {
  for (const letter of 'abcdef') {
    yield letter
    // Each letter has its own commit.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('E-4: a notification during a read is not lost, also after a notification of a sequence that does not exist', async () => {
  const store = new MemoryStore()
  const read = store.read.bind(store)
  const held = gate()
  let reads = 0
  store.read = async (...args) => {
    const events = await read(...args)
    reads += 1
    if (reads === 2) await held.opened
    return events
  }
  let hint = (_seq: number): void => undefined
  store.changes.watchTask = (_key, onChange) => {
    hint = onChange
    return () => undefined
  }
  await store.append(creation('t1'))
  const topic = new Topic(key('t1'), store, () => undefined)
  const batches = topic.batches(3)
  const next = batches.next()
  await until(() => reads === 1)
  hint(999_999)
  await until(() => reads === 2)
  await store.append(append('t1', 3, [chunk('t1', 'x')]))
  hint(4)
  held.open()
  expect((await next).value).toMatchObject([{ seq: 4 }])
  await batches.return()
})

describe.each(storeKinds)('the log on %s', (kind) => {
  it('E-2: callers see committed events only', async () => {
    const store = await openTestStore(kind)
    let committed = 0
    const append = store.append.bind(store)
    store.append = async (step) => {
      const outcome = await append(step)
      if (outcome.result === 'ok') committed = step.events.at(-1)?.seq ?? committed
      return outcome
    }
    await using engine = await testEngine(letters, store)
    for await (const { seq } of engine.sendStreamingMessage(send('go'), callBy())) {
      expect(seq).toBeLessThanOrEqual(committed)
    }
    await store.close()
  })

  it('E-2: a store that fails ends the call with UNAVAILABLE, and the cause goes to the log only', async () => {
    const store = await openTestStore(kind)
    store.append = async () => {
      throw new Error('disk full: /secret/path')
    }
    await using engine = await testEngine(letters, store)
    await expect(engine.sendMessage(send('go'), callBy())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.not.stringContaining('secret'),
    })
    expect(engine.logged.join()).toContain('disk full')
    const stream = engine.sendStreamingMessage(send('go'), callBy())
    await expect(collect(stream)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await store.close()
  })

  it('E-3: chunks are kept as parts, and the ended task is kept merged beside its events', async () => {
    await using engine = await testEngine(letters, kind)
    const { id, artifacts } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(artifacts?.[0]?.parts.filter((part) => 'text' in part && part.text !== '')).toHaveLength(6)
    const loaded = await engine.store.load({ agent: 'Test', id })
    expect(loaded?.snapshot?.artifacts).toEqual(artifacts)
    expect((await engine.store.read({ agent: 'Test', id }, 0, 1000))?.length).toBeGreaterThan(6)
  })

  it('E-3: the last chunk of a text is marked, and an added empty chunk leaves no part', async () => {
    const isSeen = gate()
    await using engine = await testEngine(async function* () {
      yield 'a'
      yield 'b'
      await isSeen.opened
    }, kind)
    const items: StreamItem[] = []
    for await (const item of engine.sendStreamingMessage(send('go'), callBy())) {
      items.push(item)
      if (outline([item])[0] === 'artifact:b') isSeen.open()
    }
    const updates = items.flatMap(({ event }) => ('artifactUpdate' in event ? [event.artifactUpdate] : []))
    expect(updates.map(({ append, lastChunk }) => [append ?? false, lastChunk ?? false])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ])
    const [task] = (await engine.listTasks({ includeArtifacts: true }, callBy())).tasks
    expect(task?.artifacts?.[0]?.parts).toEqual([{ text: 'a' }, { text: 'b' }])
  })

  it('E-4: a stream can be resumed after any of its events, during the run and after it', async () => {
    const release = gate()
    await using engine = await testEngine(async function* () {
      yield working()
      for (const each of 'abc') yield artifact('out', each, { append: true })
      await release.opened
      for (const each of 'def') yield artifact('out', each, { append: true })
    }, kind)
    const whole: StreamItem[] = []
    const reading = (async () => {
      for await (const item of engine.sendStreamingMessage(send('go'), callBy())) whole.push(plain(item))
    })()
    await until(() => whole.length >= 5)
    const [first] = whole
    const id = first && 'task' in first.event ? first.event.task.id : ''
    const resumed = whole.map(({ seq }) =>
      collect(engine.subscribeToTask({ id }, callBy('ann', { resumeAfter: seq ?? 0 }))),
    )
    release.open()
    await reading
    for (const [place, rest] of (await Promise.all(resumed)).entries()) expect(rest).toEqual(whole.slice(place + 1))
    for (const [place, { seq }] of whole.slice(0, -1).entries()) {
      expect(await collect(engine.subscribeToTask({ id }, callBy('ann', { resumeAfter: seq ?? 0 })))).toEqual(
        whole.slice(place + 1),
      )
    }
    const end = whole.at(-1)?.seq ?? 0
    await expect(collect(engine.subscribeToTask({ id }, callBy('ann', { resumeAfter: end })))).rejects.toMatchObject({
      code: 'UNSUPPORTED_OPERATION',
    })
  })

  it('E-4: a repeated send cannot resume after an event that the task does not have', async () => {
    await using engine = await testEngine(letters, kind)
    const [request, key] = [send('go'), { idempotencyKey: 'k' }]
    const { id } = taskIn(await engine.sendMessage(request, callBy('ann', key)))
    const again = engine.sendStreamingMessage(request, callBy('ann', { ...key, resumeAfter: 999 }))
    await expect(collect(again)).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      message: `Last-Event-ID: task ${id} has no event 999`,
    })
  })

  it('E-4: a snapshot has the sequence of its last event, and the events after it have no gaps and no duplicates', async () => {
    const release = gate()
    await using engine = await testEngine(async function* () {
      yield 'a'
      yield 'b'
      await release.opened
      yield 'c'
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    await until(async () => (await engine.getTask({ id }, callBy())).artifacts?.[0]?.parts.length === 2)
    const items = collect(engine.subscribeToTask({ id }, callBy()))
    await new Promise((resolve) => setImmediate(resolve))
    release.open()
    const [snapshot, ...rest] = await items
    const task = snapshot && 'task' in snapshot.event ? snapshot.event.task : undefined
    expect(textIn(task?.artifacts?.[0]?.parts ?? [])).toBe('ab')
    expect(outline(rest)).toEqual(['artifact:c', 'status:COMPLETED'])
    expect(rest[0]?.seq).toBe((snapshot?.seq ?? 0) + 1)
  })

  it('E-4: a cursor whose events are gone gets the task as a reset', async () => {
    await using engine = await testEngine(letters, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    await engine.sendMessage(send('newer'), callBy())
    const ended = Date.now()
    await until(() => Date.now() > ended)
    await engine.store.expire('Test', { endedEventsMs: 0, limit: 100 })
    const items = await collect(engine.subscribeToTask({ id }, callBy('ann', { resumeAfter: 3 })))
    expect(outline(items)).toEqual(['task:COMPLETED'])
  })

  it('ends a subscription `untilNow` with the last event of the log, while the task goes on', async () => {
    const release = gate()
    await using engine = await testEngine(async function* (turn) {
      yield artifact('out', 'a')
      // The last event of the log is private.
      await turn.checkpoint('place', 1)
      await release.opened
      yield artifact('out', 'b', { append: true })
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    const past = (resumeAfter: number) =>
      collect(engine.subscribeToTask({ id }, callBy('ann', { resumeAfter, untilNow: true })))
    await until(async () => (await engine.getTask({ id }, callBy())).artifacts !== undefined)
    const items = await past(0)
    expect(outline(items)).toEqual(['task:SUBMITTED', 'status:WORKING', 'artifact:a'])
    expect(await past(items.at(-1)?.seq ?? 0)).toEqual([])
    release.open()
    await until(async () => (await engine.getTask({ id }, callBy())).status.state === 'TASK_STATE_COMPLETED')
    expect(outline(await past(0)).slice(-2)).toEqual(['artifact:b', 'status:COMPLETED'])
  })

  it('E-5: a reader that stops reading neither slows the agent nor loses an event', async () => {
    await using engine = await testEngine(async function* () {
      yield working()
      for (let n = 0; n < 5000; n++) yield artifact('out', `${n} `, { append: true })
    }, kind)
    const slow = engine.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    const first = await slow.next()
    await until(async () => (await engine.listTasks({ status: 'TASK_STATE_COMPLETED' }, callBy())).totalSize === 1)
    const items = [first.value as StreamItem]
    for (let next = await slow.next(); !next.done; next = await slow.next()) items.push(next.value)
    expect(items).toHaveLength(5003)
    expect(new Set(items.map(({ seq }) => seq)).size).toBe(5003)
  })

  it('shows the same events to every subscriber, in the same order', async () => {
    const release = gate()
    await using engine = await testEngine(async function* () {
      yield working()
      await release.opened
      yield* letters()
      yield ask('more?')
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go', {}, { returnImmediately: true }), callBy()))
    const seen: StreamItem[][] = [[], [], [], [], []]
    const readers = seen.map(async (items) => {
      for await (const item of engine.subscribeToTask({ id }, callBy())) items.push(plain(item))
      return items
    })
    await until(() => seen.every((items) => items.length > 0))
    release.open()
    await until(async () => (await engine.getTask({ id }, callBy())).status.state === 'TASK_STATE_INPUT_REQUIRED')
    await engine.cancelTask({ id }, callBy())
    const [one, ...others] = (await Promise.all(readers)).map((items) => items.slice(1))
    for (const other of others) expect(other.slice(-6)).toEqual(one?.slice(-6))
    expect(outline(one ?? []).at(-1)).toBe('status:CANCELED')
  })
})
