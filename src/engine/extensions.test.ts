import { describe, expect, it } from 'vitest'
import { approvals } from '../model/approvals.js'
import type { Extension } from '../model/extension.js'
import { extension } from '../model/extension.js'
import type { CallContext } from '../model/service.js'
import { steps } from '../model/steps.js'
import type { Task } from '../model/task.js'
import { usage } from '../model/usage.js'
import { callBy, send } from '../testing/index.js'
import { type Agent, type AgentInit, agent, type Handler, type Turn } from './agent.js'
import { collect, taskIn, testEngine } from './engine.fixture.js'
import { artifact, ask, askAuth, completed, failed, rejected, reply, step, type Yield } from './yields.js'

const mood = extension<string>({ uri: 'urn:test:mood', key: 'mood' })
const all = [mood, usage, steps, approvals]

function asking(...extensions: readonly { readonly uri: string }[]): CallContext {
  return callBy('ann', { extensions: extensions.map(({ uri }) => uri) })
}

function declaring(extensions: AgentInit['extensions'], handler: Handler, more: Partial<AgentInit> = {}): Agent {
  return agent({ name: 'Test', ...more, ...(extensions && { extensions }) }, handler)
}

/** Yields one value and returns the task. */
async function taskAfter(value: Yield, declared: AgentInit['extensions'], context: CallContext): Promise<Task> {
  const made = declaring(declared, async function* () {
    yield value
  })
  await using engine = await testEngine(made, 'memory')
  return taskIn(await engine.sendMessage(send('go'), { ...context, mustBeTask: true }))
}

describe('values of extensions (R11-EXT-1)', () => {
  const finals = [
    ['completed', completed('Done', mood.with('happy'))],
    ['failed', failed('No', mood.with('happy'))],
    ['rejected', rejected('No', mood.with('happy'))],
    ['ask', ask('Which?', mood.with('happy'))],
    ['askAuth', askAuth('Key?', mood.with('happy'))],
    ['reply', reply('Hi', mood.with('happy'))],
  ] as const

  it.each(finals)('are in the message and the task after %s, if the extension is active', async (_name, value) => {
    const { status, metadata } = await taskAfter(value, [mood], asking(mood))
    expect(status.message).toMatchObject({ metadata: { mood: 'happy' }, extensions: ['urn:test:mood'] })
    expect(metadata).toEqual({ mood: 'happy' })
    expect(mood.read(status.message)).toBe('happy')
  })

  it.each(finals)('are not written after %s, if the extension is undeclared or not asked for', async (_name, value) => {
    for (const task of [
      await taskAfter(value, [mood], callBy()),
      await taskAfter(value, undefined, asking(mood)),
      await taskAfter(value, [usage], asking(mood, usage)),
    ]) {
      expect(task).not.toHaveProperty('metadata')
      expect(task.status.message).not.toHaveProperty('metadata')
      expect(task.status.message).not.toHaveProperty('extensions')
    }
  })

  it('are in artifacts, beside metadata and extensions of the author', async () => {
    const value = artifact('out', 'x', { metadata: { own: 1 }, extensions: ['urn:own'] }, mood.with('calm'))
    const made = (context: CallContext) => taskAfter(value, [mood], context)
    expect((await made(asking(mood))).artifacts).toMatchObject([
      { metadata: { own: 1, mood: 'calm' }, extensions: ['urn:own', 'urn:test:mood'] },
    ])
    expect((await made(callBy())).artifacts).toMatchObject([{ metadata: { own: 1 }, extensions: ['urn:own'] }])
  })

  it('are in a message without a task, as usage is', async () => {
    const made = declaring(all, async function* ({ usage: meter }) {
      meter.add({ outputTokens: 3 })
      yield reply('Hi', mood.with('happy'))
    })
    await using engine = await testEngine(made, 'memory')
    const answer = await engine.sendMessage(send('go'), asking(mood, usage))
    const message = 'message' in answer ? answer.message : undefined
    expect([mood.read(message), usage.read(message)]).toEqual(['happy', { outputTokens: 3 }])
    expect(message?.extensions).toEqual([mood.uri, usage.uri])
    const plain = await engine.sendMessage(send('go'), callBy())
    expect('message' in plain && Object.keys(plain.message).sort()).toEqual(['contextId', 'messageId', 'parts', 'role'])
  })

  it('metadata of the author is in the message only', async () => {
    const task = await taskAfter(completed('Done', { metadata: { a: 1 }, extensions: ['urn:x'] }), undefined, callBy())
    expect(task.status.message).toMatchObject({ metadata: { a: 1 }, extensions: ['urn:x'] })
    expect(task).not.toHaveProperty('metadata')
  })

  it.each([
    ['metadata without content', completed(undefined, { metadata: { a: 1 } }), 'describe the message'],
    ['metadata that is no JSON', completed('x', { metadata: { a: (() => 1) as never } }), 'Metadata is a JSON object'],
    ['a value that is too large', completed('x', mood.with('m'.repeat(64_001))), 'at most 64000 characters'],
  ])('fail the task: %s', async (_name, value, text) => {
    const { status } = await taskAfter(value, [mood], asking(mood))
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(JSON.stringify(status.message?.parts)).toContain(text)
  })

  it('throw when they are made, if they do not fit the schema', () => {
    expect(() => usage.with({ inputTokens: -1 })).toThrow('does not fit')
    expect(() => mood.with(undefined as never)).toThrow('must be JSON')
    expect(usage.read({ metadata: { [usage.key]: { inputTokens: 'many' } } })).toBeUndefined()
  })

  it('`turn.has` and `turn.extensions` are about declared extensions that the caller asked for', async () => {
    const seen: unknown[] = []
    const made = declaring([mood, { uri: 'urn:test:plain' }], async function* (turn) {
      seen.push(turn.extensions, turn.has(mood), turn.has('urn:test:plain'), turn.has(usage))
      yield 'ok'
    })
    await using engine = await testEngine(made, 'memory')
    await engine.sendMessage(send('go'), asking(mood, usage))
    expect(seen).toEqual([['urn:test:mood'], true, false, false])
  })

  it('declarations are checked', () => {
    const handler: Handler = async function* () {}
    expect(() => agent({ name: 'A', extensions: [mood, { uri: mood.uri }] }, handler)).toThrow('twice')
    expect(() => agent({ name: 'A', extensions: [{ uri: 'a, b' }] }, handler)).toThrow('without spaces and commas')
    expect(() => agent({ name: 'A', capabilities: { extensions: [] } as never }, handler)).toThrow(
      '`capabilities.extensions` is now `extensions`',
    )
    expect(() => extension({ uri: '' })).toThrow('needs a `uri`')
  })
})

describe('steps', () => {
  const handler: Handler = async function* () {
    yield step({ kind: 'reasoning', id: 'r', text: 'Hm' })
    yield step({ kind: 'tool-call', id: 'c1', name: 'pay', input: { amount: 5 } })
    yield step({ kind: 'tool-result', id: 'c1', output: 'x'.repeat(40_000) })
  }
  const messagesOf = async (made: Agent, context: CallContext) => {
    await using engine = await testEngine(made, 'memory')
    const items = await collect(engine.sendStreamingMessage(send('go'), context))
    return items.flatMap(({ event }) => ('statusUpdate' in event ? (event.statusUpdate.status.message ?? []) : []))
  }

  it('are data parts for callers that asked, cut to a bound', async () => {
    const messages = await messagesOf(declaring([steps], handler), asking(steps))
    expect(messages.map(({ extensions }) => extensions)).toEqual([[steps.uri], [steps.uri], [steps.uri]])
    expect(messages.slice(0, 2).map((each) => steps.read(each))).toEqual([
      { kind: 'reasoning', id: 'r', text: 'Hm' },
      { kind: 'tool-call', id: 'c1', name: 'pay', input: { amount: 5 } },
    ])
    const result = steps.read(messages[2])
    const output = result?.kind === 'tool-result' ? String(result.output) : ''
    expect(output).toMatch(/^x{32000} … \(cut, 40000 characters\)$/)
  })

  it.each([
    ['did not ask', [steps], callBy()],
    ['call an agent that does not declare them', undefined, asking(steps)],
  ])('are a text for callers that %s, and nothing else', async (_name, declared, context) => {
    const messages = await messagesOf(declaring(declared, handler), context)
    expect(messages).toMatchObject([{ parts: [{ text: 'Calling pay' }] }])
    expect(messages[0]).not.toHaveProperty('extensions')
  })

  it('may have ids and names of any length', () => {
    const long = 'x'.repeat(300)
    expect(JSON.stringify(step({ kind: 'tool-call', id: long, name: long }))).not.toContain('x'.repeat(256))
  })

  it('that are not valid throw', () => {
    expect(() => step({ kind: 'other', id: 'x' } as never)).toThrow('kind must be')
    expect(() => step({ kind: 'tool-call', id: 'x', name: '' })).toThrow('name must be')
    expect(() => step({ kind: 'tool-call', id: 'x', name: 'n', input: (() => 1) as never })).toThrow('must be JSON')
  })
})

it('types: a value has the type of its extension', () => {
  const typed: Extension<{ readonly a: number }> = extension<{ readonly a: number }>({ uri: 'urn:test:typed' })
  // @ts-expect-error the value is no number
  const wrong = () => typed.with({ a: 'x' })
  const read = (turn: Turn): number | undefined => typed.read(turn.message)?.a
  expect([wrong, read].length).toBe(2)
})
