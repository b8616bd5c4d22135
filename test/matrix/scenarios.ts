/**
 * Scenarios that every dialect must pass over every binding, written once. The
 * agent is the test-bed agent, with one more command: `mirror` returns the parts of its message.
 */
import { agent, artifact, textOf } from 'dragoman'
import { expect } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { type CallResult, isResult, type Piece, resultOf, type TaskSummary, type WireClient } from './wire-client.js'

export const matrixAgent = agent(echoAgent.card, async function* (turn) {
  const [first, ...rest] = turn.message.parts
  if (first && textOf([first]) === 'mirror') yield artifact('mirror', [...rest])
  else yield* echoAgent.handler(turn as never) // it has no skills with schemas
})

export const scenarios: readonly (readonly [name: string, play: (wireClient: WireClient) => Promise<void>])[] = [
  [
    'sends and gets the answer',
    async (wireClient) => {
      const answer = resultOf(await wireClient.send('hello there'))
      expect(answer).toMatchObject({ state: 'completed', text: 'hello there' })
    },
  ],
  [
    'streams chunks in order, with a visible end',
    async (wireClient) => {
      const events = await all(wireClient.stream('chunks 3'))
      expect(chunksOf(wireClient, events)).toEqual(['chunk 1 ', 'chunk 2 ', 'chunk 3 '])
      expect(lastState(events)).toBe('completed')
      if (events.at(-1)?.isLast !== undefined) {
        expect(events.map(({ isLast }) => isLast === true).indexOf(true)).toBe(events.length - 1)
      }
    },
  ],
  [
    'gets a direct message',
    async (wireClient) => {
      const { state, text, note } = resultOf(await wireClient.send('msg just this'))
      expect([state, text || note]).toEqual(['completed', 'just this'])
      const events = await all(wireClient.stream('msg just this'))
      expect(events.map((event) => event.text || event.note || '')).toContain('just this')
      expect(lastState(events)).toBe('completed')
    },
  ],
  [
    'is asked and answers',
    async (wireClient) => {
      const asked = resultOf(await wireClient.send('ask'))
      // The Go library has no such state.
      expect(asked.state).toBe(wireClient.dialect === 'v0.1-go' ? 'working' : 'input-required')
      expect(asked.note).toBe('What is the second text?')
      const answered = resultOf(await wireClient.send('second', { taskId: asked.id, contextId: asked.contextId }))
      expect(answered).toMatchObject({ state: 'completed', text: 'ask\nsecond' })
      if (wireClient.has.has('get') && answered.id !== undefined) expect(answered.id).toBe(asked.id)
    },
  ],
  [
    'is asked and answers in streams',
    async (wireClient) => {
      if (wireClient.dialect === 'v0.1-go') return // its stream cannot end at a question
      const asked = await all(wireClient.stream('ask'))
      expect(lastState(asked)).toBe('input-required')
      const { id, contextId } = merged(asked)
      const answered = await all(wireClient.stream('second', { taskId: id, contextId }))
      expect(answered.map(({ text }) => text ?? '').join('')).toContain('ask\nsecond')
      expect(lastState(answered)).toBe('completed')
    },
  ],
  [
    'receives failures and rejections',
    async (wireClient) => {
      for (const word of ['fail', 'reject', 'crash']) {
        const outcome = await wireClient.send(word)
        const isReject = word === 'reject' && ['v1', 'v0.3'].includes(wireClient.dialect)
        if (isResult(outcome)) expect(outcome.result.state, word).toBe(isReject ? 'rejected' : 'failed')
        else expect(outcome.refused.code, word).toBeOneOf([500, -32603])
        expect(JSON.stringify(outcome)).not.toContain('Crashed as asked')
      }
      const events = await all(wireClient.stream('fail'))
      expect(lastState(events)).toBe('failed')
      expect(events.map(({ note, text }) => note ?? text)).toContain('Failed as asked')
    },
  ],
  [
    'reads the task later',
    async (wireClient) => {
      if (!wireClient.has.has('get')) return
      const { id = '' } = resultOf(await wireClient.send('hello'))
      expect(resultOf(await wireClient.get(id))).toMatchObject({ id, state: 'completed', text: 'hello' })
    },
  ],
  [
    'receives an error for tasks that do not exist',
    async (wireClient) => {
      if (!wireClient.has.has('get')) return
      for (const outcome of [await wireClient.get('no-such-task'), await wireClient.cancel('no-such-task')]) {
        expect(codeOf(outcome)).toBeOneOf([-32001, 404, 'NOT_FOUND'])
      }
    },
  ],
  [
    'cancels',
    async (wireClient) => {
      if (!wireClient.has.has('cancel')) return
      const stream = wireClient.stream('sleep 60000')[Symbol.asyncIterator]()
      const { value } = (await stream.next()) as { value: TaskSummary }
      expect(resultOf(await wireClient.cancel(value.id ?? '')).state).toBe('canceled')
      const rest = await all({ [Symbol.asyncIterator]: () => stream })
      expect(lastState(rest)).toBeOneOf(['canceled', 'failed'])
      const again = await wireClient.cancel(resultOf(await wireClient.send('hello')).id ?? '')
      expect(codeOf(again)).toBeOneOf([-32002, 400, 409, 'FAILED_PRECONDITION'])
    },
  ],
  [
    'cannot continue a task that has ended',
    async (wireClient) => {
      if (!wireClient.has.has('get')) return
      const { id, contextId } = resultOf(await wireClient.send('hello'))
      const outcome = await wireClient.send('more', { taskId: id, contextId })
      expect(codeOf(outcome)).toBeOneOf([-32004, -32009, 400, 409, 'FAILED_PRECONDITION'])
    },
  ],
  [
    'sends and receives files and data of every kind',
    async (wireClient) => {
      if (wireClient.dialect.endsWith('invoke')) return // the dialect has one text input and no files
      const pieces: Piece[] = [
        { bytes: 'aGVsbG8=', mediaType: 'text/plain', name: 'hello.txt' },
        { data: { answer: 42, nested: { list: [1, null, true], big: 9007199254740991 } } },
        { data: { plain: true, text: 'x', list: ['a', { b: 1.5 }] } },
        { data: [1, 'two', { three: 3 }] },
        { data: 'only text' },
        { data: 7 },
        { data: null },
      ]
      const carries = wireClient.carries ?? ((piece) => piece)
      const sent = pieces.filter((piece) => carries(piece))
      const answer = resultOf(await wireClient.send([{ text: 'mirror' }, ...sent]))
      expect(answer.pieces).toEqual(sent.map(carries))
    },
  ],
  [
    'stores a webhook',
    async (wireClient) => {
      if (!wireClient.has.has('push')) return
      const { id = '' } = resultOf(await wireClient.send('hello'))
      expect(await wireClient.push(id, 'https://hooks.example/a')).toBe('https://hooks.example/a')
    },
  ],
]

/** The increments of an answer; dialects whose last event repeats the whole have one text more. */
function chunksOf({ dialect }: WireClient, events: readonly TaskSummary[]): readonly string[] {
  const texts = events.filter(({ text }) => text).map(({ text }) => text ?? '')
  if (dialect === 'invoke' || dialect === 'chat-rpc') return texts.slice(0, -1)
  // A whole task repeats what it has.
  return dialect === 'task-rest'
    ? events.filter(({ state, text }) => !state && text).map(({ text }) => text ?? '')
    : texts
}

export function lastState(events: readonly TaskSummary[]): string | undefined {
  return events.findLast(({ state }) => state !== undefined)?.state
}

function merged(events: readonly TaskSummary[]): TaskSummary {
  return {
    id: events.find(({ id }) => id)?.id,
    contextId: events.find(({ contextId }) => contextId)?.contextId,
  }
}

function codeOf(outcome: CallResult): number | string {
  return isResult(outcome) ? `result: ${JSON.stringify(outcome.result)}` : outcome.refused.code
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const item of items) seen.push(item)
  return seen
}
