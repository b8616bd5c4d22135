import { expect, test } from 'vitest'
import { approvalRequest, approvals } from '../model/approvals.js'
import type { Artifact } from '../model/artifact.js'
import { A2AError } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Message } from '../model/message.js'
import { data, file, type Part, text } from '../model/part.js'
import type { StreamItem } from '../model/service.js'
import { stepPart } from '../model/steps.js'
import type { Task, TaskState } from '../model/task.js'
import { usage } from '../model/usage.js'
import { type ReadTurnOptions, readTurn, type TurnEvent } from './read-turn.js'

const ids = { taskId: 't', contextId: 'c' }

function message(content: string | readonly Part[], role: Message['role'] = 'ROLE_AGENT', id = 'm'): Message {
  return { messageId: id, role, parts: typeof content === 'string' ? [text(content)] : content }
}

function status(state: TaskState, content?: string | readonly Part[]): StreamResponse {
  return { statusUpdate: { ...ids, status: { state, ...(content !== undefined && { message: message(content) }) } } }
}

function chunk(artifactId: string, content: string | readonly Part[], more: object = {}): StreamResponse {
  const parts = typeof content === 'string' ? [text(content)] : content
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts }, ...more } }
}

function task(state: TaskState, more: Partial<Task> = {}): StreamResponse {
  return { task: { id: 't', contextId: 'c', status: { state }, ...more } }
}

const user = (id: string) => message('…', 'ROLE_USER', id)
const append = { append: true }
const created = task('TASK_STATE_SUBMITTED', { history: [user('1')] })
const completed = status('TASK_STATE_COMPLETED')

async function* streamOf(events: readonly (StreamResponse | StreamItem)[]): AsyncGenerator<StreamItem> {
  for (const each of events) yield 'event' in each ? each : { event: each }
}

async function read(events: readonly (StreamResponse | StreamItem)[], options?: ReadTurnOptions): Promise<TurnEvent[]> {
  const all: TurnEvent[] = []
  for await (const event of readTurn(streamOf(events), options)) all.push(event)
  return all
}

/** Events in short: `text a: Hi`. */
async function outline(events: readonly (StreamResponse | StreamItem)[], options?: ReadTurnOptions): Promise<string[]> {
  return (await read(events, options)).map((event) => {
    switch (event.kind) {
      case 'begin':
        return `begin ${event.turn}`
      case 'text':
        return `text ${event.id}: ${event.text}`
      case 'textEnd':
        return `textEnd ${event.id}`
      case 'data':
        return `data ${event.id}.${event.index}: ${JSON.stringify(event.value)}`
      case 'file':
        return `file ${event.id}`
      case 'step':
        return `step ${event.step.kind} ${event.step.id}`
      case 'usage':
        return `usage ${event.usage.totalTokens}`
      case 'end':
        return `end ${event.state.replace('TASK_STATE_', '')} ${event.text}`.trim()
      case 'reset':
        return 'reset'
      default:
        return `${event.kind}: ${event.text}`
    }
  })
}

test('text in chunks ends with the last chunk, which may be empty', async () => {
  const events = [
    created,
    chunk('a', 'Hel'),
    chunk('a', 'lo', append),
    chunk('a', '', { append: true, lastChunk: true }),
  ]
  expect(await outline([...events, completed])).toEqual([
    'begin 1',
    'text a: Hel',
    'text a: lo',
    'textEnd a',
    'end COMPLETED',
  ])
})

test('a text without a last chunk ends before the turn does', async () => {
  expect(await outline([created, chunk('a', 'Hi'), status('TASK_STATE_FAILED', 'Broken')])).toEqual([
    'begin 1',
    'text a: Hi',
    'textEnd a',
    'end FAILED Broken',
  ])
})

test('artifacts hold data and files too', async () => {
  const parts = [text('See'), data({ n: 1 }), file(new URL('https://a.example/b.png')), data(2)]
  const events = await read([
    created,
    { artifactUpdate: { ...ids, artifact: { artifactId: 'r', name: 'report', parts } } },
    completed,
  ])
  expect(events.slice(1)).toEqual([
    { kind: 'text', id: 'r', name: 'report', text: 'See' },
    { kind: 'data', id: 'r', name: 'report', index: 0, value: { n: 1 }, mediaType: 'application/json' },
    { kind: 'file', id: 'r', name: 'report', part: { url: 'https://a.example/b.png' } },
    { kind: 'data', id: 'r', name: 'report', index: 1, value: 2, mediaType: 'application/json' },
    { kind: 'textEnd', id: 'r' },
    { kind: 'end', state: 'TASK_STATE_COMPLETED', text: '' },
  ])
})

test('progress is no text, and a status without a message is nothing', async () => {
  const events = [created, status('TASK_STATE_WORKING', 'Reading…'), status('TASK_STATE_WORKING'), completed]
  expect(await outline(events)).toEqual(['begin 1', 'progress: Reading…', 'end COMPLETED'])
})

test('the message that completes a task is content, that of a failed one is not', async () => {
  expect(await outline([created, status('TASK_STATE_COMPLETED', 'Done')])).toEqual([
    'begin 1',
    'text m: Done',
    'textEnd m',
    'end COMPLETED',
  ])
  expect(await outline([created, status('TASK_STATE_REJECTED', 'No')])).toEqual(['begin 1', 'end REJECTED No'])
})

test('a question has its form apart', async () => {
  const schema = { type: 'object', properties: { size: { type: 'string' } } }
  const parts = [text('Which size?'), data({ hint: 1 }), { data: schema, mediaType: 'application/schema+json' }]
  const events = await read([created, status('TASK_STATE_INPUT_REQUIRED', parts), chunk('late', 'no')])
  expect(events.slice(1)).toEqual([
    { kind: 'question', messageId: 'm', text: 'Which size?', parts: [text('Which size?'), data({ hint: 1 })], schema },
  ])
})

test('a question for a credential ends the turn although the stream stays open', async () => {
  let wasClosed = false
  async function* endless(): AsyncGenerator<StreamItem> {
    try {
      yield { event: created }
      yield { event: status('TASK_STATE_AUTH_REQUIRED', 'Log in') }
      await new Promise(() => {})
    } finally {
      wasClosed = true
    }
  }
  const kinds: string[] = []
  for await (const { kind } of readTurn(endless())) kinds.push(kind)
  expect(kinds).toEqual(['begin', 'auth'])
  expect(wasClosed).toBe(true)
})

test('a message in place of a task is a whole turn', async () => {
  expect(await read([{ message: { ...message('Hi'), contextId: 'c' } }])).toEqual([
    { kind: 'begin', contextId: 'c', turn: 1 },
    { kind: 'text', id: 'm', text: 'Hi' },
    { kind: 'textEnd', id: 'm' },
    { kind: 'end', state: 'TASK_STATE_COMPLETED', text: '' },
  ])
})

test('text that is written again is taken back with everything', async () => {
  const events = [created, chunk('a', 'Hello'), chunk('b', [data(1)]), chunk('a', 'Good'), chunk('a', ' day', append)]
  expect(await outline([...events, completed])).toEqual([
    'begin 1',
    'text a: Hello',
    'data b.0: 1',
    'reset',
    'text a: Good',
    'data b.0: 1',
    'text a:  day',
    'textEnd a',
    'end COMPLETED',
  ])
})

test('a whole artifact that only has grown adds the rest', async () => {
  const events = [created, chunk('a', 'He'), chunk('a', 'llo', append), chunk('a', [text('Hello you'), data(1)])]
  expect(await outline([...events, completed])).toEqual([
    'begin 1',
    'text a: He',
    'text a: llo',
    'text a:  you',
    'data a.0: 1',
    'textEnd a',
    'end COMPLETED',
  ])
})

test('data replaces data without a reset, unless there is less of it', async () => {
  const events = [created, chunk('s', [data(1), data(2)]), chunk('s', [data(3), data(4)]), chunk('s', [data(5)])]
  expect(await outline([...events, completed])).toEqual([
    'begin 1',
    'data s.0: 1',
    'data s.1: 2',
    'data s.0: 3',
    'data s.1: 4',
    'reset',
    'data s.0: 5',
    'end COMPLETED',
  ])
})

const earlier: readonly Artifact[] = [
  { artifactId: 'artifact-1-1', parts: [text('Old')] },
  { artifactId: 'log', parts: [text('Old'), data(1)] },
]
const answered = [user('1'), message('Which?', 'ROLE_AGENT', 'q'), user('2')]

test('a continued task opens with artifacts of earlier turns, which are left out', async () => {
  const opening = task('TASK_STATE_WORKING', { artifacts: earlier, history: answered })
  const events = [opening, chunk('artifact-2-1', 'New'), chunk('log', [text('More'), data(2)], append), completed]
  expect(await outline(events)).toEqual([
    'begin 2',
    'text artifact-2-1: New',
    'text log: More',
    'data log.1: 2',
    'textEnd artifact-2-1',
    'textEnd log',
    'end COMPLETED',
  ])
})

test('a subscription during a later turn shows what the turn has written', async () => {
  const artifacts = [...earlier, { artifactId: 'artifact-2-1', parts: [text('Ne')] }]
  const events = [task('TASK_STATE_WORKING', { artifacts, history: answered }), chunk('artifact-2-1', 'w', append)]
  expect(await outline([...events, completed])).toEqual([
    'begin 2',
    'text artifact-2-1: Ne',
    'text artifact-2-1: w',
    'textEnd artifact-2-1',
    'end COMPLETED',
  ])
})

test('a question that the message has answered does not end its turn, unless the stream ends there', async () => {
  const asked = {
    status: { state: 'TASK_STATE_INPUT_REQUIRED', message: message('Which?', 'ROLE_AGENT', 'q') },
  } as const
  const opening = task('TASK_STATE_INPUT_REQUIRED', { ...asked, history: answered })
  const working = status('TASK_STATE_WORKING')
  expect(await outline([opening, working, chunk('a', 'Ok'), completed])).toEqual([
    'begin 2',
    'text a: Ok',
    'textEnd a',
    'end COMPLETED',
  ])
  expect(await outline([opening])).toEqual(['begin 2', 'question: Which?'])
  expect(await outline([task('TASK_STATE_INPUT_REQUIRED', { ...asked, history: answered.slice(0, 2) })])).toEqual([
    'begin 1',
    'question: Which?',
  ])
})

test('a second task in the stream replaces everything, still without earlier turns', async () => {
  const history = answered
  const now = [...earlier, { artifactId: 'x', parts: [text('Better')] }]
  const events = [
    task('TASK_STATE_WORKING', { artifacts: earlier, history }),
    chunk('x', 'Good'),
    task('TASK_STATE_WORKING', { artifacts: now, history }),
    chunk('x', '!', append),
  ]
  expect(await outline([...events, completed])).toEqual([
    'begin 2',
    'text x: Good',
    'reset',
    'text x: Better',
    'text x: !',
    'textEnd x',
    'end COMPLETED',
  ])
})

const log = [
  created,
  chunk('a', 'One'),
  status('TASK_STATE_INPUT_REQUIRED', 'Which?'),
  status('TASK_STATE_WORKING'),
  chunk('b', 'Two'),
  chunk('a', 'More', append),
  status('TASK_STATE_INPUT_REQUIRED', 'And?'),
  status('TASK_STATE_WORKING'),
  completed,
].map((event, place) => ({ event, seq: place + 1 }))

test('one turn of a log with several', async () => {
  expect(await outline(log, { turn: 1 })).toEqual(['begin 1', 'text a: One', 'textEnd a', 'question: Which?'])
  expect(await outline(log, { turn: 2 })).toEqual([
    'begin 2',
    'text b: Two',
    'text a: More',
    'textEnd b',
    'textEnd a',
    'question: And?',
  ])
  expect(await read(log, { turn: 3 })).toEqual([
    { kind: 'begin', taskId: 't', contextId: 'c', turn: 3, seq: 8 },
    { kind: 'end', state: 'TASK_STATE_COMPLETED', text: '', seq: 9 },
  ])
  await expect(read(log, { turn: 4 })).rejects.toThrow(new A2AError('TASK_NOT_FOUND', 'The task has no turn 4'))
})

test('the rest of a turn', async () => {
  expect(await outline(log, { turn: 2, after: 5 })).toEqual([
    'text a: More',
    'textEnd b',
    'textEnd a',
    'question: And?',
  ])
  expect(await outline(log, { turn: 2, after: 7 })).toEqual([])
})

test('a reader that has seen the question for a credential reads on in the same turn', async () => {
  const asks = [created, chunk('a', 'Log'), status('TASK_STATE_AUTH_REQUIRED', 'Log in')]
  const items = [...asks, status('TASK_STATE_WORKING'), chunk('a', 'Paid'), completed].map((event, place) => ({
    event,
    seq: place + 1,
    turn: 1,
  }))
  expect(await outline(items, { turn: 1, after: 3 })).toEqual(['reset', 'text a: Paid', 'textEnd a', 'end COMPLETED'])
})

test('without a log, the rest is the whole turn again, as the task shows it', async () => {
  const artifacts = [...earlier, { artifactId: 'artifact-2-1', parts: [text('New')] }]
  const opening = { event: task('TASK_STATE_WORKING', { artifacts, history: answered }), seq: 9 }
  const rest = [opening, { event: completed, seq: 10 }]
  expect(await outline(rest, { turn: 2, after: 6 })).toEqual([
    'begin 2',
    'reset',
    'text artifact-2-1: New',
    'textEnd artifact-2-1',
    'end COMPLETED',
  ])
  expect(await outline(rest, { turn: 1 })).toEqual([
    'begin 1',
    'text artifact-1-1: Old',
    'textEnd artifact-1-1',
    'question: Which?',
  ])
})

test('a message that waits for the end of another turn gets its own turn only', async () => {
  const waiting = { event: task('TASK_STATE_WORKING', { history: [user('1'), user('2')] }), seq: 5, turn: 2 }
  const rest = [
    { event: chunk('artifact-1-1', 'First'), seq: 6, turn: 1 },
    { event: status('TASK_STATE_INPUT_REQUIRED', 'Which?'), seq: 7, turn: 1 },
    { event: status('TASK_STATE_WORKING'), seq: 8, turn: 2 },
    { event: chunk('artifact-2-1', 'Second'), seq: 9, turn: 2 },
    { event: completed, seq: 10, turn: 2 },
  ]
  expect(await outline([waiting, ...rest])).toEqual([
    'begin 2',
    'text artifact-2-1: Second',
    'textEnd artifact-2-1',
    'end COMPLETED',
  ])
  const failed = { event: status('TASK_STATE_FAILED', 'Broken'), seq: 7, turn: 1 }
  expect(await outline([waiting, failed])).toEqual(['begin 2', 'end FAILED Broken'])
})

test('a turn that returned while a message waited is complete when the next turn begins', async () => {
  const items = [
    { event: created, seq: 1, turn: 1 },
    { event: chunk('artifact-1-1', 'One', { lastChunk: true }), seq: 2, turn: 1 },
    { event: chunk('artifact-2-1', 'Two'), seq: 3, turn: 2 },
  ]
  expect(await outline(items)).toEqual(['begin 1', 'text artifact-1-1: One', 'textEnd artifact-1-1', 'end COMPLETED'])
})

test('a stream that ends before the turn is an error', async () => {
  await expect(read([created, chunk('a', 'Hal')])).rejects.toMatchObject({ failure: 'broken-stream' })
})

test('unknown options are refused', () => {
  expect(() => readTurn(streamOf([]), { from: 3 } as object)).toThrow('from')
})

test('reads steps, usage and approvals', async () => {
  const call = { kind: 'tool-call', id: 'call-1', name: 'pay', input: { amount: 5 } } as const
  const tools = [{ id: 'call-1', name: 'pay', args: { amount: 5 } }]
  const asked = message([text('Approve pay?')])
  const waiting: Message = { ...asked, metadata: { [approvals.key]: approvalRequest({ hint: 'Final', tools }) } }
  const spent = { metadata: { [usage.key]: { totalTokens: 3 } } }
  const events: StreamResponse[] = [
    created,
    status('TASK_STATE_WORKING', [stepPart(call)]),
    status('TASK_STATE_WORKING', [stepPart(call), text('Paying')]),
    { statusUpdate: { ...ids, ...spent, status: { state: 'TASK_STATE_INPUT_REQUIRED', message: waiting } } },
  ]
  expect(await outline(events)).toEqual([
    'begin 1',
    'step tool-call call-1',
    'step tool-call call-1',
    'progress: Paying',
    'usage 3',
    'question: Approve pay?',
  ])
  expect((await read(events)).at(-1)).toMatchObject({ approval: { hint: 'Final', tools } })
})
