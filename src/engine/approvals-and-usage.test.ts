import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerApproval, approvals } from '../model/approvals.js'
import { extension } from '../model/extension.js'
import { wholeHistory } from '../model/history-window.js'
import type { Message } from '../model/message.js'
import type { CallContext } from '../model/service.js'
import { steps } from '../model/steps.js'
import { foldEvents } from '../model/task-fold.js'
import { usage } from '../model/usage.js'
import { callBy, gate, send, until } from '../testing/index.js'
import { mortalStore } from '../testing/mortal-store.js'
import { type Agent, type AgentInit, agent, type Handler } from './agent.js'
import { collect, openTestStore, storeKinds, taskIn, testEngine } from './engine.fixture.js'
import { relayAgent } from './relay-agent.js'
import { approve, ask, completed, step, working } from './yields.js'

const mood = extension<string>({ uri: 'urn:test:mood', key: 'mood' })
const immediately = { returnImmediately: true } as const

function asking(...extensions: readonly { readonly uri: string }[]): CallContext {
  return callBy('ann', { extensions: extensions.map(({ uri }) => uri) })
}

function declaring(extensions: AgentInit['extensions'], handler: Handler, more: Partial<AgentInit> = {}): Agent {
  return agent({ name: 'Test', ...more, ...(extensions && { extensions }) }, handler)
}

const payTools = [
  { id: 'c1', name: 'pay', args: { amount: 5 } },
  { id: 'c2', name: 'send', args: {} },
]

/** Asks for approval, then answers with the decisions. */
const payer = (tools = payTools): Handler =>
  async function* ({ approvals: decisions, number }) {
    if (number === 1) yield approve(tools, { hint: 'Payments are final' })
    yield completed(JSON.stringify([...(decisions ?? [])]))
  }

function response(approved: readonly object[]): Partial<Message> {
  return { metadata: { [approvals.uri]: { type: 'tool_approval_response', approvals: approved } as never } }
}

const yes = (id: string) => ({ id, approved: true })
const invalid = expect.objectContaining({ code: 'INVALID_PARAMS' }) as unknown

describe.each(storeKinds)('extensions on %s', (kind) => {
  it('R11-EXT-4: an approval decides every tool call exactly once, or the question stays open', async () => {
    await using engine = await testEngine(declaring([approvals], payer()), kind)
    const { id, status } = taskIn(await engine.sendMessage(send('go'), asking(approvals)))
    expect(status.message?.extensions).toEqual([approvals.uri])
    expect(status.message?.metadata?.[approvals.uri]).toEqual({
      type: 'tool_approval_request',
      hint: 'Payments are final',
      tools: [
        { id: 'c1', call_id: 'c1', name: 'pay', args: { amount: 5 } },
        { id: 'c2', call_id: 'c2', name: 'send', args: {} },
      ],
    })
    const refused = [
      response([yes('c1')]),
      response([yes('c1'), yes('c1')]),
      response([yes('c1'), yes('c2'), yes('c2')]),
      response([yes('c1'), yes('c3')]),
      response([yes('c1'), { id: 'c2' }]),
      response([yes('c1'), { id: 'c2', approved: false, rejection_reason: 5 }]),
      response('all' as never),
      { parts: [{ data: { approved_1: true } }] },
      { parts: [{ data: { approved_1: true, approved_2: true, approved_3: true } }] },
      { parts: [{ url: 'https://example.com/yes' }] },
    ]
    for (const answer of refused)
      await expect(engine.sendMessage(send('Maybe', { taskId: id, ...answer }), asking(approvals))).rejects.toEqual(
        invalid,
      )
    const { state } = (await engine.getTask({ id }, callBy())).status
    expect(state).toBe('TASK_STATE_INPUT_REQUIRED')
    const decided = response([{ id: 'c2', approved: false, rejection_reason: 'No' }, yes('c1')])
    const done = taskIn(await engine.sendMessage(send('Decided', { taskId: id, ...decided }), asking(approvals)))
    expect(done.status.message?.parts).toEqual([
      { text: '[["c1",{"approved":true}],["c2",{"approved":false,"reason":"No"}]]' },
    ])
    // The question is a part of the message only.
    expect(done).not.toHaveProperty('metadata')
  })

  it('R11-EXT-4: callers without the extension answer a form, or with a word', async () => {
    for (const [declared, tools, answer, decided] of [
      [
        [approvals],
        payTools,
        { data: { approved_1: true, approved_2: false, reason_2: 'No' } },
        '[["c1",{"approved":true}],["c2",{"approved":false,"reason":"No"}]]',
      ],
      [undefined, payTools.slice(0, 1), { data: { approved: false } }, '[["c1",{"approved":false}]]'],
      [
        undefined,
        payTools.slice(0, 1),
        { text: '{"approved":true,"reason":"ok"}' },
        '[["c1",{"approved":true,"reason":"ok"}]]',
      ],
      [undefined, payTools, { text: ' Yes ' }, '[["c1",{"approved":true}],["c2",{"approved":true}]]'],
    ] as const) {
      await using engine = await testEngine(declaring(declared, payer([...tools])), kind)
      const { id, status } = taskIn(await engine.sendMessage(send('go'), callBy()))
      expect(status.message).not.toHaveProperty('metadata')
      expect(status.message?.parts[0]).toMatchObject({
        text: expect.stringContaining('Approve pay {"amount":5}?') as string,
      })
      await expect(engine.sendMessage(send('Perhaps', { taskId: id }), callBy())).rejects.toEqual(invalid)
      const done = taskIn(await engine.sendMessage(send('', { taskId: id, parts: [answer] }), callBy()))
      expect(done.status.message?.parts).toEqual([{ text: decided }])
    }
  })

  it('an active caller may answer the form, and one that did not ask may answer with metadata', async () => {
    await using engine = await testEngine(declaring([approvals], payer(payTools.slice(0, 1))), kind)
    const first = taskIn(await engine.sendMessage(send('go'), asking(approvals)))
    const form = { taskId: first.id, parts: [{ data: { approved: true } }] }
    const byForm = taskIn(await engine.sendMessage(send('', form), asking(approvals)))
    const second = taskIn(await engine.sendMessage(send('go'), callBy()))
    const approval = approvals.read(first.status.message)
    if (!approval) throw new Error('No approval')
    const answer = answerApproval(approval, new Map([['c1', { approved: true }]]))
    const byMetadata = taskIn(await engine.sendMessage(send('', { taskId: second.id, ...answer }), callBy()))
    for (const { status } of [byForm, byMetadata])
      expect(status.message?.parts).toEqual([{ text: '[["c1",{"approved":true}]]' }])
    const third = taskIn(await engine.sendMessage(send('go'), callBy()))
    const both = { taskId: third.id, parts: [{ text: 'Yes' }, { data: { approved: false } }] }
    const byBoth = taskIn(await engine.sendMessage(send('', both), callBy()))
    expect(byBoth.status.message?.parts).toEqual([{ text: '[["c1",{"approved":false}]]' }])
  })

  it('a later question is no approval, and a message that came before the question does not answer it', async () => {
    const waits = gate()
    await using engine = await testEngine(
      declaring([approvals], async function* ({ approvals: decisions, number }) {
        if (number === 1) {
          yield working('Begin')
          await waits.opened
          yield approve(payTools)
        }
        if (decisions) yield ask('Anything else?')
        yield completed(String(decisions))
      }),
      kind,
    )
    const first = engine.sendMessage(send('go'), asking(approvals))
    const task = await until(async () => (await engine.listTasks({}, callBy())).tasks[0])
    const early = engine.sendMessage(send('Hurry', { taskId: task.id }), asking(approvals))
    await until(async () => (await engine.getTask({ id: task.id }, callBy())).history?.length === 2)
    waits.open()
    await first
    const { status } = taskIn(await early)
    // The question is asked again, with its metadata.
    expect(approvals.read(status.message)?.tools.map(({ id }) => id)).toEqual(['c1', 'c2'])
    const approved = response([yes('c1'), yes('c2')])
    await engine.sendMessage(send('ok', { taskId: task.id, ...approved }), asking(approvals))
    const done = taskIn(await engine.sendMessage(send('nothing', { taskId: task.id }), asking(approvals)))
    expect(done.status.message?.parts).toEqual([{ text: 'undefined' }])
  })

  it('an approval survives the death of the process between question and answer', async () => {
    const store = await openTestStore(kind)
    const life = mortalStore(store)
    const first = await testEngine(declaring([approvals], payer()), life.store, { owner: 'dead' })
    const { id } = taskIn(await first.sendMessage(send('go'), callBy()))
    life.kill()
    await using engine = await testEngine(declaring([approvals], payer()), store)
    await expect(engine.sendMessage(send('', { taskId: id, ...response([yes('c1')]) }), callBy())).rejects.toEqual(
      invalid,
    )
    const both = response([yes('c1'), yes('c2')])
    const { status } = taskIn(await engine.sendMessage(send('', { taskId: id, ...both }), callBy()))
    expect(status.message?.parts).toEqual([{ text: '[["c1",{"approved":true}],["c2",{"approved":true}]]' }])
    await store.close()
  })

  it('usage is a running total over turns, on every status update after it', async () => {
    await using engine = await testEngine(
      declaring([usage], async function* ({ usage: meter, number }) {
        yield working('Begin')
        meter.add({ inputTokens: 10, cost: { amount: '0.1', currency: 'USD' }, model: 'm' })
        meter.add({ inputTokens: 1, outputTokens: 2, cost: { amount: '0.02', currency: 'USD' } })
        yield 'text'
        if (number === 1) yield ask('More?')
      }),
      kind,
    )
    const items = await collect(engine.sendStreamingMessage(send('go'), asking(usage)))
    const totals = items.flatMap(({ event }) => ('statusUpdate' in event ? [usage.read(event.statusUpdate)] : []))
    const once = { inputTokens: 11, outputTokens: 2, cost: { amount: '0.12', currency: 'USD' }, model: 'm' }
    expect(totals).toEqual([undefined, once])
    const [waiting] = (await engine.listTasks({}, callBy())).tasks
    expect(usage.read(waiting)).toEqual(once)
    const taskId = waiting?.id ?? ''
    const twice = { inputTokens: 22, outputTokens: 4, cost: { amount: '0.24', currency: 'USD' }, model: 'm' }
    const done = taskIn(await engine.sendMessage(send('yes', { taskId }), asking(usage)))
    expect(usage.read(done)).toEqual(twice)
    expect(usage.read(await engine.getTask({ id: taskId }, callBy()))).toEqual(twice)
  })

  it('usage is counted for active callers only; mistakes fail the task for all', async () => {
    await using engine = await testEngine(
      declaring([usage], async function* ({ usage: meter, text }) {
        meter.add(JSON.parse(text) as object)
        yield JSON.stringify(meter.total)
      }),
      kind,
    )
    const plain = taskIn(await engine.sendMessage(send('{"inputTokens":5}'), callBy()))
    expect(plain.artifacts).toMatchObject([{ parts: [{ text: '{}' }] }])
    expect(plain).not.toHaveProperty('metadata')
    for (const context of [callBy(), asking(usage)])
      for (const [mistake, text] of [
        ['{"inputTokens":1.5}', 'inputTokens must be an integer'],
        ['{"inputTokens":-1}', 'inputTokens must be an integer'],
        ['{"tokens":1}', 'Unknown option of turn.usage.add: tokens'],
        ['{"cost":{"amount":"1e9","currency":"USD"}}', 'cost.amount must be'],
        ['{"cost":{"amount":"1","currency":"dollars"}}', 'cost.currency must be'],
      ] as const) {
        const { status } = taskIn(await engine.sendMessage(send(mistake), context))
        expect(JSON.stringify(status.message?.parts)).toContain(text)
      }
  })

  it('E-9: a repeated attempt continues from the committed usage, also if no status has it yet', async () => {
    const store = await openTestStore(kind)
    const life = mortalStore(store)
    const handler: Handler = async function* ({ attempt, usage: meter }) {
      if (attempt > 1) return
      yield working('Begin')
      meter.add({ outputTokens: 7 })
      yield 'committed'
      await new Promise(() => undefined)
    }
    const retrying = declaring([usage], handler, { onCrash: { attempts: 2 } })
    const first = await testEngine(retrying, life.store, { owner: 'dead' })
    const { id } = taskIn(await first.sendMessage(send('go', {}, immediately), asking(usage)))
    await until(async () => (await first.getTask({ id }, callBy())).artifacts)
    expect(usage.read(await first.getTask({ id }, callBy()))).toBeUndefined()
    life.kill()
    await using engine = await testEngine(retrying, store, { isOwnerDead: (owner) => owner === 'dead' })
    const done = await until(async () => {
      const task = await engine.getTask({ id }, callBy())
      return task.status.state === 'TASK_STATE_COMPLETED' && task
    })
    expect(usage.read(done)).toEqual({ outputTokens: 7 })
    await store.close()
  })

  it('usage of a turn that throws, and of a cancelled one, is in the last status', async () => {
    await using engine = await testEngine(
      declaring([usage], async function* ({ usage: meter, text }) {
        yield working('Begin')
        meter.add({ outputTokens: 7 })
        if (text === 'throw') throw new Error('No')
        yield 'more'
        await new Promise(() => undefined)
      }),
      kind,
    )
    expect(usage.read(taskIn(await engine.sendMessage(send('throw'), asking(usage))))).toEqual({ outputTokens: 7 })
    const { id } = taskIn(await engine.sendMessage(send('wait', {}, immediately), asking(usage)))
    await until(async () => (await engine.getTask({ id }, callBy())).artifacts)
    expect(usage.read(await engine.cancelTask({ id }, callBy()))).toEqual({ outputTokens: 7 })
  })

  it('R11-EXT-2: fold, replay, view and list of a task have the same metadata', async () => {
    const other = extension<number>({ uri: 'urn:test:level' })
    const given = (place: number, [name, value]: readonly [string, number]) =>
      name === 'mood' ? mood.with(`${place}-${value}`) : other.with(value)
    const actions = fc.array(
      fc.record({
        what: fc.constantFrom('working', 'silent', 'text', 'usage', 'ask', 'step'),
        values: fc.array(fc.tuple(fc.constantFrom('mood', 'level'), fc.nat(9)), { maxLength: 2 }),
      }),
      { maxLength: 8 },
    )
    let plan: typeof actions extends fc.Arbitrary<infer Plan> ? Plan : never = []
    const handler: Handler = async function* ({ usage: meter, number }) {
      let turn = 1
      for (const [place, { what, values }] of plan.entries()) {
        const added = values.map((each) => given(place, each))
        if (what === 'ask') turn += 1
        if (what === 'ask' ? turn !== number + 1 : turn !== number) continue
        if (what === 'usage') meter.add({ inputTokens: place })
        else if (what === 'text') yield 'text'
        else if (what === 'step') yield step({ kind: 'reasoning', id: 'r', text: 'Hm' })
        else if (what === 'ask') yield ask('More?', ...added)
        else yield working(what === 'silent' ? undefined : 'Busy', ...added)
      }
    }
    await using engine = await testEngine(declaring([mood, other, usage, steps], handler), kind)
    const agreed = async (id: string) => {
      const key = { agent: 'Test', id }
      const viewed = await engine.store.view(key, { history: wholeHistory, includeArtifacts: true })
      const log = (await engine.store.read(key, 0, 1000)) ?? []
      expect(viewed?.task).toEqual(foldEvents(log).snapshot())
      const { tasks } = await engine.listTasks({ includeArtifacts: true }, callBy())
      expect(tasks.find((each) => each.id === id)?.metadata).toEqual(viewed?.task.metadata)
      expect((await engine.getTask({ id }, callBy())).metadata).toEqual(viewed?.task.metadata)
    }
    await fc.assert(
      fc.asyncProperty(actions, fc.boolean(), async (next, isActive) => {
        plan = next
        const context = isActive ? asking(mood, other, usage, steps) : callBy()
        const sent = { ...context, mustBeTask: true }
        let task = taskIn(await engine.sendMessage(send('go'), sent))
        await agreed(task.id)
        while (task.status.state === 'TASK_STATE_INPUT_REQUIRED') {
          task = taskIn(await engine.sendMessage(send('on', { taskId: task.id }), sent))
          await agreed(task.id)
        }
        expect(task.status.state).toBe('TASK_STATE_COMPLETED')
        if (!isActive) expect(task).not.toHaveProperty('metadata')
      }),
      { numRuns: 30 },
    )
  })
})

it('a relay forwards approvals of an agent behind it, as form and as metadata', async () => {
  await using behind = await testEngine(declaring([approvals], payer()), 'memory')
  await using engine = await testEngine(relayAgent({ name: 'Relay' }, behind), 'memory')
  const decided = '[["c1",{"approved":true}],["c2",{"approved":true}]]'
  for (const answer of [
    response([yes('c1'), yes('c2')]),
    { parts: [{ data: { approved_1: true, approved_2: true } }] },
  ]) {
    const { id } = taskIn(await engine.sendMessage(send('go'), asking(approvals)))
    const done = taskIn(await engine.sendMessage(send('', { taskId: id, ...answer }), callBy()))
    expect(done.status.message?.parts).toEqual([{ text: decided }])
  }
})
