import { describe, expect, it } from 'vitest'
import { data, file } from '../model/part.js'
import type { Task } from '../model/task.js'
import type { CompleteStore } from '../stores/store.js'
import { callBy, gate, send, until } from '../testing/index.js'
import type { Handler, Turn } from './agent.js'
import { bound, collect, openTestStore, outline, storeKinds, taskIn, testEngine, textIn } from './engine.fixture.js'
import { artifact, ask, completed, failed, reply, working, type Yield } from './yields.js'

describe.each(storeKinds)('turns on %s', (kind) => {
  it('E-1: a message to a busy task waits for its turn, in order, and does not end the task early', async () => {
    const release = gate()
    await using engine = await testEngine(async function* ({ text }) {
      if (text === 'first') {
        yield working()
        await release.opened
      }
      yield `${text} `
    }, kind)
    const stream = engine.sendStreamingMessage(send('first'), callBy())[Symbol.asyncIterator]()
    const { value } = await stream.next()
    const id = value && 'task' in value.event ? value.event.task.id : ''
    const second = engine.sendMessage(send('second', { taskId: id }), callBy())
    const third = until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2).then(() =>
      engine.sendMessage(send('third', { taskId: id }), callBy()),
    )
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 3)
    release.open()
    const answers = await Promise.all([second, third])
    const { artifacts, history, status } = taskIn(answers[1])
    expect(artifacts?.map(({ parts }) => textIn(parts))).toEqual(['first ', 'second ', 'third '])
    expect(history?.map(({ parts }) => textIn(parts))).toEqual(['first', 'second', 'third'])
    expect(status.state).toBe('TASK_STATE_COMPLETED')
    expect(taskIn(answers[0]).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('gives a turn the other tasks of its context and owner, the oldest first', async () => {
    const seen: (readonly Task[])[] = []
    await using engine = await testEngine(async function* (turn) {
      const limit = turn.data()
      seen.push(await turn.earlier(typeof limit === 'number' ? { limit } : {}))
      yield `re: ${turn.text}`
      if (turn.text === 'asked') yield ask('Which?')
    }, kind)
    const say = (text: string, caller: string, contextId = 'talk', limit?: number) => {
      const parts = limit === undefined ? [{ text }] : [{ text }, data(limit)]
      return engine.sendMessage({ message: { messageId: text, role: 'ROLE_USER', contextId, parts } }, callBy(caller))
    }
    const outlined = () =>
      seen
        .at(-1)
        ?.map(({ history, artifacts = [] }) => [
          textIn(history?.[0]?.parts ?? []),
          ...artifacts.map(({ parts }) => textIn(parts)),
        ])
    const { id: open } = taskIn(await say('asked', 'ada'))
    expect(outlined()).toEqual([])
    await say('of another caller', 'bob')
    expect(outlined()).toEqual([])
    await say('of another context', 'ada', 'other')
    expect(outlined()).toEqual([])
    await say('second', 'ada')
    await say('third', 'ada')
    expect(outlined()).toEqual([
      ['asked', 're: asked'],
      ['second', 're: second'],
    ])
    await say('fourth', 'ada', 'talk', 2)
    expect(outlined()).toEqual([
      ['second', 're: second'],
      ['third', 're: third'],
    ])
    // The task of the turn itself is not among them, however old it is.
    await engine.sendMessage(send('the answer', { taskId: open }), callBy('ada'))
    expect(outlined()?.map(([first]) => first)).toEqual(['second', 'third', 'fourth?'])
  })

  it('gives a turn at most 100 earlier tasks, and a copy of each', async () => {
    const results: unknown[] = []
    await using engine = await testEngine(async function* (turn) {
      for (const limit of [0, 101, 1.5, Number.NaN])
        results.push(await turn.earlier({ limit }).catch((error: unknown) => error))
      results.push(
        await Promise.resolve({ most: 1 } as object)
          .then((wrong) => turn.earlier(wrong))
          .catch(String),
      )
      const [task] = await turn.earlier({ limit: 100 })
      if (task) Object.assign(task.status, { state: 'changed' })
      yield 'done'
    }, kind)
    const first = taskIn(await engine.sendMessage(send('one', { contextId: 'c' }), callBy()))
    await engine.sendMessage(send('two', { contextId: 'c' }), callBy())
    for (const refused of results.slice(0, 4)) expect(refused).toBeInstanceOf(TypeError)
    expect(results[4]).toContain('most')
    expect((await engine.getTask({ id: first.id }, callBy())).status.state).toBe('TASK_STATE_COMPLETED')
  })

  it('names the owner of the task as its scope, also in a turn of another caller', async () => {
    const handler: Handler = async function* ({ scope, caller, number }) {
      yield `${scope.agent}, ${scope.tenant}, ${scope.owner}: ${caller.id};`
      if (number === 1) yield ask('More?')
    }
    await using engine = await testEngine(handler, kind, { canAccess: () => true })
    const tenant = 'acme'
    const { id } = taskIn(await engine.sendMessage(send('start'), { ...callBy('ann'), tenant }))
    const { artifacts } = taskIn(await engine.sendMessage(send('go', { taskId: id }), { ...callBy('bob'), tenant }))
    expect(artifacts?.map(({ parts }) => textIn(parts))).toEqual(['Test, acme, ann: ann;', 'Test, acme, ann: bob;'])
  })

  it('E-1: two simultaneous messages to a waiting task both run, neither is lost', async () => {
    await using engine = await testEngine(async function* ({ text, history }) {
      if (history.length === 1) yield ask('More?')
      yield `${text};`
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('start'), callBy()))
    const answers = await Promise.allSettled([
      engine.sendMessage(send('a', { taskId: id }), callBy()),
      engine.sendMessage(send('b', { taskId: id }), callBy()),
    ])
    const task = await until(async () => {
      const now = await engine.getTask({ id }, callBy())
      return now.status.state === 'TASK_STATE_COMPLETED' && now
    })
    const received = task.history?.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => textIn(parts)) ?? []
    const ran = task.artifacts?.map(({ parts }) => textIn(parts)) ?? []
    // The second may arrive after the task has ended; then its sender gets an error.
    expect(ran).toEqual(received.slice(1).map((each) => `${each};`))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(ran.length)
  })

  it.each<[what: string, last: Yield, artifacts: readonly string[], state: string, message?: string]>([
    ['a string', 'Goodbye', ['HelloGoodbye'], 'COMPLETED'],
    ['an artifact', artifact('report', 'all'), ['Hello', 'all'], 'COMPLETED'],
    ['a failure', failed('No more'), ['Hello'], 'FAILED', 'No more'],
    ['a question', ask('More?'), ['Hello'], 'INPUT_REQUIRED', 'More?'],
  ])('treats %s that a handler returns as its last yield', async (_what, last, artifacts, state, message) => {
    await using engine = await testEngine(async function* () {
      yield 'Hello'
      return last
    }, kind)
    const task = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(task.status.state).toBe(`TASK_STATE_${state}`)
    expect(task.artifacts?.map(({ parts }) => textIn(parts))).toEqual(artifacts)
    expect(task.status.message && textIn(task.status.message.parts)).toBe(message)
  })

  it('treats the return value of a handler without yields as its only yield', async () => {
    await using engine = await testEngine(async function* () {
      return reply('Hello')
    }, kind)
    expect(await engine.sendMessage(send('go'), callBy())).toMatchObject({ message: { parts: [{ text: 'Hello' }] } })
  })

  it('rejects returned values that cannot be sent, in types and at run time', async () => {
    // @ts-expect-error: a number cannot be sent
    const handler: Handler = async function* () {
      yield 'Hello'
      return 42
    }
    await using engine = await testEngine(handler, kind)
    const { status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(textIn(status.message?.parts ?? [])).toMatch(
      /^The agent yielded an invalid value: A handler yields .*, not a number$/,
    )
  })

  it('names `data(…)` when an artifact is a plain object', async () => {
    await using engine = await testEngine(async function* () {
      yield 'Hello'
      yield artifact('a', { size: 3 } as never)
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(textIn(status.message?.parts ?? [])).toContain('wrap it in `data(…)`')
  })

  it('E-1: failing ends the task, and waiting senders get that task', async () => {
    const release = gate()
    await using engine = await testEngine(async function* () {
      yield working()
      await release.opened
      yield failed('No more')
    }, kind)
    const stream = engine.sendStreamingMessage(send('first'), callBy())[Symbol.asyncIterator]()
    const { value } = await stream.next()
    const id = value && 'task' in value.event ? value.event.task.id : ''
    const waiting = engine.sendMessage(send('second', { taskId: id }), callBy())
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2)
    release.open()
    expect(taskIn(await waiting).status.state).toBe('TASK_STATE_FAILED')
  })

  it('E-1: a sender whose message waits does not end at a question asked before its own turn', async () => {
    const release = gate()
    await using engine = await testEngine(async function* ({ text }) {
      if (text !== 'first') {
        yield `answered ${text}`
        return
      }
      yield working()
      await release.opened
      yield ask('Which?')
    }, kind)
    const first = collect(engine.sendStreamingMessage(send('first'), callBy()))
    const id = await until(async () => (await engine.listTasks({}, callBy())).tasks[0]?.id)
    const second = engine.sendMessage(send('second', { taskId: id }), callBy())
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2)
    release.open()
    expect(taskIn(await second).status.state).toBe('TASK_STATE_COMPLETED')
    expect(outline(await first)).toEqual(['task:SUBMITTED', 'status:WORKING', 'status:INPUT_REQUIRED'])
  })

  const approval = { type: 'object', required: ['approve'], properties: { approve: { type: 'boolean' } } }

  it('rejects answers that do not match the form, with field paths, and keeps waiting', async () => {
    await using engine = await testEngine(async function* (turn) {
      if (turn.number === 1) yield ask('Publish?', { schema: approval })
      yield `answered ${JSON.stringify(turn.data())}`
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    const text = { text: 'x' }
    for (const [parts, field] of [
      [[{ text: 'yes' }], 'message.parts[0].text.approve'],
      [[{ text: '{"approve":"yes"}' }], 'message.parts[0].text.approve'],
      [[{ text: '{}' }], 'message.parts[0].text.approve'],
      [[text, { data: {} }], 'message.parts[1].data.approve'],
      [[{ data: { approve: true } }, { data: { approve: 1 } }], 'message.parts[1].data.approve'],
      [[{ url: 'https://files.example/x' }], 'message.parts'],
      [[{ text: `{"approve":${'['.repeat(20_000)}${']'.repeat(20_000)}}` }], 'message.parts[0].text.approve'],
    ] as const) {
      const refused = engine.sendMessage(send('', { taskId: id, parts }), callBy())
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_PARAMS', details: { violations: [{ field }] } })
    }
    const waiting = await engine.getTask({ id }, callBy())
    expect(waiting.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(waiting.history).toHaveLength(2)
    const parts = [{ data: { approve: true } }]
    expect(taskIn(await engine.sendMessage(send('', { taskId: id, parts }), callBy())).status.state).toBe(
      'TASK_STATE_COMPLETED',
    )
  })

  it.each([
    ['{"approve": false}', approval, { approve: false }],
    ['true', approval, { approve: true }],
    ['L', { type: 'object', properties: { size: { enum: ['L', 'XL'] } } }, { size: 'L' }],
    ['7', { type: 'object', properties: { size: { type: 'string' } } }, { size: '7' }],
    ['3', { type: 'integer' }, 3],
    ['red', { enum: ['red', 'green'] }, 'red'],
  ])('reads the text %s as data that match the form', async (text, schema, answer) => {
    const seen: unknown[] = []
    await using engine = await testEngine(async function* (turn) {
      if (turn.number === 1) yield ask('Which?', { schema })
      seen.push(turn.data(), turn.text, turn.message.parts.at(-1))
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('go'), callBy()))
    const done = taskIn(await engine.sendMessage(send(text, { taskId: id }), callBy()))
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    expect(seen).toEqual([answer, text, { data: answer }])
    // The history contains the original message.
    expect(done.history?.at(-1)?.parts).toEqual([{ text }])
  })

  it.each([
    [{ shema: approval }, 'Unknown option of ask: shema. Did you mean `schema`?'],
    [
      { schema: { properties: { approve: { type: 'bool' } } } },
      'The schema of `ask` is not valid: .properties.approve.type: Invalid type; choose from string, number, integer, boolean, null, array, object',
    ],
    [
      { schema: { properties: { approve: { type: 'boolean', required: true } } } },
      'The schema of `ask` is not valid: .properties.approve.required: must be a list of property names, beside `properties`',
    ],
    [{ schema: { anyOf: [{}, { items: { type: ['string', 'text'] } }] } }, '.anyOf[1].items.type: Invalid type'],
    [{ schema: { properties: ['name'] } }, '.properties: must be an object of schemas'],
    [{ schema: null }, 'The schema of `ask` must be an object'],
    [{ schema: { '~standard': { version: 1 } } }, '`ask` takes JSON Schema; write `z.toJSONSchema(schema)`'],
  ])('E-8: fails the task when the agent asks with %j, and says why', async (options, why) => {
    await using engine = await testEngine(async function* () {
      yield ask('Publish?', options as never)
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(status.message?.parts).toEqual([{ text: expect.stringContaining(`The agent failed: `) }])
    expect(JSON.stringify(status.message)).toContain(JSON.stringify(why).slice(1, -1))
    expect(engine.logged).toEqual([expect.stringContaining(why)])
  })

  it.each<[string, (turn: Turn) => unknown, string]>([
    ['file', () => file(new Uint8Array(), { name: 'x' } as never), 'Unknown option of file: name. '],
    [
      'turn.checkpoint',
      (turn) => turn.checkpoint('k', 1, { reserve: true } as never),
      'Unknown option of turn.checkpoint: reserve. ',
    ],
    [
      'turn.call',
      (turn) => turn.call('other', 'hi', { timeout: 1 } as never),
      'Unknown option of turn.call: timeout. ',
    ],
  ])('E-8: fails the task when %s has an unknown option, and says why', async (_what, use, why) => {
    await using engine = await testEngine(async function* (turn) {
      yield working()
      await use(turn)
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(textIn(status.message?.parts ?? [])).toContain(`The agent failed: ${why}`)
  })

  it.each<[string, () => unknown]>([
    ['state', () => ({ kind: 'status', state: 'confidential' })],
    ['kind', () => ({ kind: 'confidential' })],
    ['type in a schema', () => ask('Which?', { schema: { type: 'confidential' } })],
    ['list of types in a schema', () => ask('Which?', { schema: { type: ['string', { confidential: 1 }] } })],
  ])('E-8: does not quote the value of a wrong %s to the caller', async (_what, make) => {
    await using engine = await testEngine(async function* () {
      yield working()
      yield make() as never
    }, kind)
    const { status } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(textIn(status.message?.parts ?? [])).toMatch(/^The agent (yielded an invalid value|failed): ./)
    expect(JSON.stringify(status)).not.toContain('confidential')
  })

  it('does not treat a message sent before the question as its answer, unless it matches the form', async () => {
    const release = gate()
    const seen: unknown[] = []
    await using engine = await testEngine(async function* (turn) {
      if (turn.number === 1) {
        yield working()
        await release.opened
        yield ask('Publish?', { schema: approval })
      }
      seen.push(turn.data())
    }, kind)
    const first = engine.sendMessage(send('go'), callBy())
    const id = await until(async () => (await engine.listTasks({}, callBy())).tasks[0]?.id)
    const early = engine.sendMessage(send('yes', { taskId: id }), callBy())
    await until(async () => (await engine.getTask({ id }, callBy())).history?.length === 2)
    release.open()
    await first
    expect(taskIn(await early).status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Publish?' }, { data: approval }] },
    })
    expect(seen).toEqual([])
    await engine.sendMessage(send('true', { taskId: id }), callBy())
    expect(seen).toEqual([{ approve: true }])
  })

  it('asks, ends the turn with its finally blocks, and continues with the answer', async () => {
    const log: string[] = []
    const schema = { type: 'object', properties: { name: { type: 'string' } } }
    await using engine = await testEngine(async function* ({ text, history }) {
      if (history.length > 1) {
        yield `got ${text}`
        return
      }
      try {
        yield ask('Your name?', { schema })
        log.push('never')
      } finally {
        log.push('closed')
      }
    }, kind)
    const asked = taskIn(await engine.sendMessage(send('hi'), callBy()))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(asked.status.message?.parts).toEqual([
      { text: 'Your name?' },
      { data: schema, mediaType: 'application/schema+json' },
    ])
    expect(log).toEqual(['closed'])
    const items = await collect(engine.sendStreamingMessage(send('Ann', { taskId: asked.id }), callBy()))
    expect(outline(items).at(0)).toMatch(/^task:/)
    expect(outline(items).slice(-2)).toEqual(['artifact:got Ann', 'status:COMPLETED'])
    const { history } = await engine.getTask({ id: asked.id }, callBy())
    expect(history?.map(({ role }) => role)).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER'])
  })

  it('keeps questions and final messages in the history, and no progress', async () => {
    await using engine = await testEngine(async function* () {
      yield working('one')
      yield working('two')
      yield completed('done')
    }, kind)
    const { history } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(history?.map(({ parts }) => textIn(parts))).toEqual(['go', 'done'])
  })

  it('E-1: a message that is accepted while chunks are committed gets its turn, however the turn before it ends', async () => {
    const store = await openTestStore(kind)
    const slow: CompleteStore = { ...bound(store), append: async (step) => delayed(() => store.append(step)) }
    for (const ending of ['return', 'ask'] as const) {
      const ran: string[] = []
      await using engine = await testEngine(async function* ({ text }) {
        ran.push(text)
        for (let n = 0; n < 20; n++) {
          yield 'c'
          await new Promise((resolve) => setImmediate(resolve))
        }
        if (ending === 'ask' && text === 'first') yield ask('more?')
      }, slow)
      const { id } = taskIn(await engine.sendMessage(send('first', {}, { returnImmediately: true }), callBy()))
      const { status } = taskIn(await engine.sendMessage(send('second', { taskId: id }), callBy()))
      expect(status.state).toBe('TASK_STATE_COMPLETED')
      expect(ran).toEqual(['first', 'second'])
    }
    await store.close()
  })

  it('E-1: a handler that never awaits does not block other calls', async () => {
    await using engine = await testEngine(async function* ({ signal }) {
      while (!signal.aborted) yield ''
    }, kind)
    const { id } = taskIn(await engine.sendMessage(send('loop', {}, { returnImmediately: true }), callBy()))
    expect((await engine.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
  })

  it('E-2: changes to a value after its yield have no effect', async () => {
    await using engine = await testEngine(async function* () {
      const value = { n: 0 }
      for (let n = 1; n <= 3; n++) {
        value.n = n
        yield artifact(`a${n}`, { data: value, metadata: { value } }, { metadata: { value } })
      }
    }, kind)
    const { artifacts } = taskIn(await engine.sendMessage(send('go'), callBy()))
    expect(artifacts?.map(({ parts, metadata }) => [parts[0], metadata])).toEqual(
      [{ n: 1 }, { n: 2 }, { n: 3 }].map((value) => [{ data: value, metadata: { value } }, { value }]),
    )
  })

  it('E-2: a handler that changes its message, metadata, history or checkpoints does not change the task', async () => {
    const overwrite = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const name of Object.keys(value)) {
        overwrite((value as Record<string, unknown>)[name])
        ;(value as Record<string, unknown>)[name] = 'overwritten'
      }
    }
    const seen: unknown[] = []
    await using engine = await testEngine(async function* (turn) {
      seen.push(structuredClone([turn.data(), turn.metadata, turn.checkpoints.get('kept')]))
      if (turn.number === 1) await turn.checkpoint('kept', { n: 1 })
      for (const value of [turn.message, turn.metadata, turn.history, turn.task, turn.checkpoints.get('kept')])
        overwrite(value)
      overwrite(turn.data())
      if (turn.number === 1) yield ask('More?')
    }, kind)
    const said = (n: number, more = {}) => {
      const { message } = send('', more)
      return { message: { ...message, parts: [{ data: { n }, metadata: { n } }] }, metadata: { n } }
    }
    const { id } = taskIn(await engine.sendMessage(said(1), callBy()))
    const { history } = taskIn(await engine.sendMessage(said(2, { taskId: id }), callBy()))
    expect(history?.map(({ parts }) => parts[0])).toEqual([
      { data: { n: 1 }, metadata: { n: 1 } },
      { text: 'More?' },
      { data: { n: 2 }, metadata: { n: 2 } },
    ])
    expect(seen).toEqual([
      [{ n: 1 }, { n: 1 }, undefined],
      [{ n: 2 }, { n: 2 }, { n: 1 }],
    ])
  })

  it('E-2: a run whose store fails in the background ends at once, with an error for its reader', async () => {
    const store = await openTestStore(kind)
    let isBroken = false
    const breaking: CompleteStore = {
      ...bound(store),
      append: async (step) => {
        if (isBroken) throw new Error('disk full')
        return await store.append(step)
      },
    }
    await using engine = await testEngine(async function* ({ signal }) {
      for (let n = 0; !signal.aborted; n++) {
        yield `${n} `
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }, breaking)
    const stream = engine.sendStreamingMessage(send('go'), callBy())[Symbol.asyncIterator]()
    await stream.next()
    isBroken = true
    const rest = async () => {
      while (!(await stream.next()).done);
    }
    await expect(rest()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    isBroken = false
    await store.close()
  })
})

function delayed<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => setTimeout(() => work().then(resolve, reject), 3))
}
