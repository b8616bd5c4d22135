/** `readTurn` on the streams of real engines: in this process, and through clients of every dialect. */
import { agent, artifact, ask, askAuth, completed, data, failed, serve, text, working } from 'dragoman'
import {
  type AgentClient,
  type ConnectOptions,
  connect,
  readTurn,
  type StreamItem,
  type TurnEvent,
} from 'dragoman/client'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeKinds, type TestEngine, testEngine } from '../../src/engine/engine.fixture.js'
import type { Yield } from '../../src/engine/yields.js'
import type { Part } from '../../src/model/part.js'
import type { SendMessageRequest } from '../../src/model/service.js'
import { gate } from '../../src/testing/wait.js'

const caller = { id: 'ada' }

type BeginEvent = Extract<TurnEvent, { kind: 'begin' }>

async function all(stream: AsyncIterable<StreamItem>, options?: Parameters<typeof readTurn>[1]): Promise<TurnEvent[]> {
  const events: TurnEvent[] = []
  for await (const event of readTurn(stream, options)) events.push(event)
  return events
}

function messageTo(taskId?: string): SendMessageRequest {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [text('Go')] } as const
  return { message: taskId === undefined ? message : { ...message, taskId } }
}

/** The content that a reader has after all events. */
function contentOf(events: readonly TurnEvent[]): Record<string, string> {
  let content: Record<string, string> = {}
  for (const event of events) {
    if (event.kind === 'reset') content = {}
    else if (event.kind === 'text') content[event.id] = (content[event.id] ?? '') + event.text
    else if (event.kind === 'data') content[`${event.id}.${event.index}`] = JSON.stringify(event.value)
    else if (event.kind === 'file') content[event.id] = (content[event.id] ?? '') + JSON.stringify(event.part)
  }
  return content
}

const words = fc.constantFrom('a', 'bb', 'ccc', 'é', '')
const part: fc.Arbitrary<Part> = fc.oneof(
  words.map((word) => text(word)),
  fc.integer().map((value) => data(value)),
  fc.constant({ url: 'https://files.example/a.png' }),
)
const parts = fc.array(part, { minLength: 1, maxLength: 3 })
const step: fc.Arbitrary<Yield> = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 1, arbitrary: words.map((word) => working(word || 'Working')) },
  {
    weight: 3,
    arbitrary: fc
      .record({ id: fc.constantFrom(undefined, 'x', 'y'), append: fc.boolean(), lastChunk: fc.boolean(), parts })
      .map(({ id, parts: content, ...options }) =>
        artifact('n', content, id === undefined ? options : { ...options, id }),
      ),
  },
)
const steps = fc.array(step, { maxLength: 6 })
const question = fc.constantFrom(ask('More?'), ask('Which?', { schema: { type: 'string' } }), askAuth('Log in'))
const last = fc.constantFrom(undefined, completed('Done'), completed([data(1), text('!')]), failed('Broken'))
/** The yields of each turn. All turns but the last one end with a question. */
const script = fc
  .tuple(fc.array(fc.tuple(steps, question), { maxLength: 3 }), steps, last)
  .map(([asking, final, end]) => [...asking.map(([yields, asks]) => [...yields, asks]), end ? [...final, end] : final])

describe.each(storeKinds.filter((kind) => kind !== 'postgres'))('on the %s store', (kind) => {
  it('a turn is read the same from its send and from the log, whole and from any position', async () => {
    await fc.assert(
      fc.asyncProperty(script, fc.array(fc.nat(40), { minLength: 3, maxLength: 3 }), async (turns, cuts) => {
        await using engine = await testEngine(async function* ({ history }) {
          for (const each of turns[history.filter(({ role }) => role === 'ROLE_USER').length - 1] ?? []) yield each
        }, kind)
        let taskId: string | undefined
        for (const place of turns.keys()) {
          const turn = place + 1
          const live = await all(engine.sendStreamingMessage(messageTo(taskId), { caller }))
          const [begin] = live
          if (begin?.kind !== 'begin' || begin.taskId === undefined) throw new Error('The turn did not begin')
          expect(begin.turn).toBe(turn)
          taskId = begin.taskId
          expect(await replay(engine, taskId, turn)).toEqual(live)
          // A reader that has seen the last event of a turn that asks for a credential would wait for it.
          const end = live.at(-1)?.seq ?? 1
          for (const after of cuts.map((cut) => cut % end))
            expect(await replay(engine, taskId, turn, after)).toEqual(live.filter(({ seq = 0 }) => seq > after))
        }
        for (const turn of turns.keys()) {
          const again = await replay(engine, taskId ?? '', turn + 1)
          expect(again[0]).toMatchObject({ kind: 'begin', turn: turn + 1 })
          expect(
            again.filter(({ kind: each }) => each === 'question' || each === 'auth' || each === 'end'),
          ).toHaveLength(1)
        }
      }),
      { numRuns: kind === 'memory' ? 150 : 60 },
    )
  })
})

async function replay(engine: TestEngine, id: string, turn: number, after?: number): Promise<TurnEvent[]> {
  const context = { caller, resumeAfter: 0 }
  return await all(engine.subscribeToTask({ id }, context), after === undefined ? { turn } : { turn, after })
}

it('the events of a turn add up to what the turn wrote, also for a reader that subscribes in the middle', async () => {
  const halfway = gate()
  const rest = gate()
  await using engine = await testEngine(async function* ({ history }) {
    if (history.length === 1) {
      yield 'Earlier'
      yield ask('Which?')
    }
    yield 'Two '
    yield artifact('table', [data([1])])
    halfway.open()
    await rest.opened
    yield 'halves'
  }, 'memory')
  const [begin] = await all(engine.sendStreamingMessage(messageTo(), { caller }))
  const taskId = begin?.kind === 'begin' ? begin.taskId : undefined
  const sender = all(engine.sendStreamingMessage(messageTo(taskId), { caller }))
  await halfway.opened
  const subscription = engine.subscribeToTask({ id: taskId ?? '' }, { caller })
  const follower = all(subscription)
  rest.open()
  expect(contentOf(await sender)).toEqual({ 'artifact-2-1': 'Two halves', 'artifact-2-2.0': '[1]' })
  expect(contentOf(await follower)).toEqual({ 'artifact-2-1': 'Two halves', 'artifact-2-2.0': '[1]' })
})

it('a credential continues the turn for a reader that has seen the question for it', async () => {
  await using engine = await testEngine(async function* ({ credential }) {
    yield credential ? 'Paid' : 'Checking'
    if (!credential) yield askAuth('Log in')
  }, 'memory')
  const live = await all(engine.sendStreamingMessage(messageTo(), { caller }))
  const [begin, ...more] = live
  const taskId = begin?.kind === 'begin' ? (begin.taskId ?? '') : ''
  const asked = more.at(-1)
  expect(asked?.kind).toBe('auth')
  await engine.provideCredential({ taskId, credential: 'token' })
  const rest = await replay(engine, taskId, 1, asked?.seq ?? 0)
  expect(contentOf([...live, ...rest])).toEqual({ 'artifact-1-1': 'Paid' })
  expect(rest.map(({ kind }) => kind)).toEqual(['reset', 'text', 'textEnd', 'end'])
})

it('a turn that runs again after a crash takes its text back', async () => {
  let attempts = 0
  const card = { name: 'Test', onCrash: { attempts: 2 } } as const
  const begun = gate()
  const unstable = agent(card, async function* ({ signal }) {
    attempts += 1
    yield attempts === 1 ? 'First' : 'Second'
    begun.open()
    if (attempts === 1)
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    yield ' try'
  })
  await using first = await testEngine(unstable, 'memory')
  const stream = first.sendStreamingMessage(messageTo(), { caller })[Symbol.asyncIterator]()
  const { value } = (await stream.next()) as IteratorYieldResult<StreamItem>
  const id = 'task' in value.event ? value.event.task.id : ''
  await begun.opened
  await first.drain(0)
  await using second = await testEngine(unstable, first.store)
  const events = await replay(second, id, 1)
  expect(events.map(({ kind }) => kind)).toEqual(['begin', 'text', 'reset', 'text', 'text', 'textEnd', 'end'])
  expect(contentOf(events)).toEqual({ 'artifact-1-1': 'Second try' })
})

const tailor = agent('Tailor', async function* ({ history }) {
  if (history.filter(({ role }) => role === 'ROLE_USER').length === 1) {
    yield 'Looking '
    yield 'at it'
    yield ask('Which size?')
  }
  yield working('Sewing')
  yield 'Here '
  yield 'it is'
})

let served: Awaited<ReturnType<typeof serve>>
beforeAll(async () => {
  served = await serve(tailor, { dialects: 'all', log: false })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const card = '/.well-known/agent.json'
const ways: readonly (readonly [options: ConnectOptions, path: string])[] = [
  [{ dialect: 'v1', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'v1', binding: 'HTTP+JSON' }, '/'],
  [{ dialect: 'v1', binding: 'GRPC' }, '/'],
  [{ dialect: 'v0.3', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'v0.3', binding: 'HTTP+JSON' }, '/'],
  [{ dialect: 'v0.3', binding: 'GRPC' }, '/'],
  [{ dialect: 'v0.1' }, card],
  [{ dialect: 'v0.1-go' }, `/go${card}`],
  [{ dialect: 'invoke' }, '/'],
  [{ dialect: 'invoke', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'chat-rpc' }, '/'],
]

describe.each(ways)('a client with %j', (options, path) => {
  it('reads a question, and only the new content of the turn that answers it', async () => {
    await using client: AgentClient = await connect(new URL(path, served.url).href, options)
    const first = await all(client.sendStreamingMessage(messageTo()))
    const [begin] = first
    expect(begin).toMatchObject({ kind: 'begin', turn: 1 })
    expect(Object.values(contentOf(first)).join('')).toBe('Looking at it')
    expect(first.at(-1)).toMatchObject({ kind: 'question', text: 'Which size?' })
    const { taskId, contextId } = first.findLast(({ kind }) => kind === 'begin') as BeginEvent
    const { message } = messageTo(taskId)
    const answer = contextId === undefined ? message : { ...message, contextId }
    const second = await all(client.sendStreamingMessage({ message: answer }), { continues: true })
    expect(Object.values(contentOf(second)).join('')).toBe('Here it is')
    expect(second.at(-1)).toMatchObject({ kind: 'end', state: 'TASK_STATE_COMPLETED' })
    const kinds = second.map(({ kind }) => kind).filter((kind) => kind !== 'progress')
    expect(kinds[0]).toBe('begin')
    expect(kinds.filter((kind) => kind === 'textEnd')).toHaveLength(1)
  })
})
