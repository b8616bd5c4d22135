/**
 * What every dialect must be able to do over every binding, written once. The
 * agent is the test-bed agent, with one more word: `mirror` gives the parts of its message back.
 */
import { agent, artifact, textOf } from 'dragoman'
import { expect } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { isTold, type Outcome, type Piece, type Speaker, type Told, told } from './speaker.js'

export const matrixAgent = agent(echoAgent.card, async function* (turn) {
  const [first, ...rest] = turn.message.parts
  if (first && textOf([first]) === 'mirror') yield artifact('mirror', [...rest])
  else yield* echoAgent.handler(turn as never) // it has no skills with schemas
})

export const scenarios: readonly (readonly [name: string, play: (speaker: Speaker) => Promise<void>])[] = [
  [
    'sends and gets the answer',
    async (speaker) => {
      const answer = told(await speaker.send('hello there'))
      expect(answer).toMatchObject({ state: 'completed', text: 'hello there' })
    },
  ],
  [
    'streams chunks, in order, to an end it can see',
    async (speaker) => {
      const events = await all(speaker.stream('chunks 3'))
      expect(chunksOf(speaker, events)).toEqual(['chunk 1 ', 'chunk 2 ', 'chunk 3 '])
      expect(lastState(events)).toBe('completed')
      if (events.at(-1)?.isLast !== undefined) {
        expect(events.map(({ isLast }) => isLast === true).indexOf(true)).toBe(events.length - 1)
      }
    },
  ],
  [
    'gets a direct message',
    async (speaker) => {
      const { state, text, note } = told(await speaker.send('msg just this'))
      expect([state, text || note]).toEqual(['completed', 'just this'])
      const events = await all(speaker.stream('msg just this'))
      expect(events.map((event) => event.text || event.note || '')).toContain('just this')
      expect(lastState(events)).toBe('completed')
    },
  ],
  [
    'is asked and answers',
    async (speaker) => {
      const asked = told(await speaker.send('ask'))
      // The Go library has no such state.
      expect(asked.state).toBe(speaker.dialect === 'v0.1-go' ? 'working' : 'input-required')
      expect(asked.note).toBe('What is the second text?')
      const answered = told(await speaker.send('second', { taskId: asked.id, contextId: asked.contextId }))
      expect(answered).toMatchObject({ state: 'completed', text: 'ask\nsecond' })
      if (speaker.has.has('get') && answered.id !== undefined) expect(answered.id).toBe(asked.id)
    },
  ],
  [
    'is asked and answers in streams',
    async (speaker) => {
      if (speaker.dialect === 'v0.1-go') return // its stream cannot end at a question
      const asked = await all(speaker.stream('ask'))
      expect(lastState(asked)).toBe('input-required')
      const { id, contextId } = merged(asked)
      const answered = await all(speaker.stream('second', { taskId: id, contextId }))
      expect(answered.map(({ text }) => text ?? '').join('')).toContain('ask\nsecond')
      expect(lastState(answered)).toBe('completed')
    },
  ],
  [
    'hears of failures and refusals',
    async (speaker) => {
      for (const word of ['fail', 'reject', 'crash']) {
        const outcome = await speaker.send(word)
        const isReject = word === 'reject' && ['v1', 'v0.3'].includes(speaker.dialect)
        if (isTold(outcome)) expect(outcome.told.state, word).toBe(isReject ? 'rejected' : 'failed')
        else expect(outcome.refused.code, word).toBeOneOf([500, -32603])
        expect(JSON.stringify(outcome)).not.toContain('Crashed as asked')
      }
      const events = await all(speaker.stream('fail'))
      expect(lastState(events)).toBe('failed')
      expect(events.map(({ note, text }) => note ?? text)).toContain('Failed as asked')
    },
  ],
  [
    'reads the task later',
    async (speaker) => {
      if (!speaker.has.has('get')) return
      const { id = '' } = told(await speaker.send('hello'))
      expect(told(await speaker.get(id))).toMatchObject({ id, state: 'completed', text: 'hello' })
    },
  ],
  [
    'is told of tasks that are not there',
    async (speaker) => {
      if (!speaker.has.has('get')) return
      for (const outcome of [await speaker.get('no-such-task'), await speaker.cancel('no-such-task')]) {
        expect(codeOf(outcome)).toBeOneOf([-32001, 404, 'NOT_FOUND'])
      }
    },
  ],
  [
    'cancels',
    async (speaker) => {
      if (!speaker.has.has('cancel')) return
      const stream = speaker.stream('sleep 60000')[Symbol.asyncIterator]()
      const { value } = (await stream.next()) as { value: Told }
      expect(told(await speaker.cancel(value.id ?? '')).state).toBe('canceled')
      const rest = await all({ [Symbol.asyncIterator]: () => stream })
      expect(lastState(rest)).toBeOneOf(['canceled', 'failed'])
      const again = await speaker.cancel(told(await speaker.send('hello')).id ?? '')
      expect(codeOf(again)).toBeOneOf([-32002, 400, 409, 'FAILED_PRECONDITION'])
    },
  ],
  [
    'may not go on with a task that has ended',
    async (speaker) => {
      if (!speaker.has.has('get')) return
      const { id, contextId } = told(await speaker.send('hello'))
      const outcome = await speaker.send('more', { taskId: id, contextId })
      expect(codeOf(outcome)).toBeOneOf([-32004, -32009, 400, 409, 'FAILED_PRECONDITION'])
    },
  ],
  [
    'carries files and data of every kind there and back',
    async (speaker) => {
      if (speaker.dialect.endsWith('invoke')) return // takes one input and has no files
      const pieces: Piece[] = [
        { bytes: 'aGVsbG8=', mediaType: 'text/plain', name: 'hello.txt' },
        { data: { answer: 42, nested: { list: [1, null, true], big: 9007199254740991 } } },
        { data: { plain: true, text: 'x', list: ['a', { b: 1.5 }] } },
        { data: [1, 'two', { three: 3 }] },
        { data: 'only text' },
        { data: 7 },
        { data: null },
      ]
      const carries = speaker.carries ?? ((piece) => piece)
      const sent = pieces.filter((piece) => carries(piece))
      const answer = told(await speaker.send([{ text: 'mirror' }, ...sent]))
      expect(answer.pieces).toEqual(sent.map(carries))
    },
  ],
  [
    'remembers a webhook',
    async (speaker) => {
      if (!speaker.has.has('push')) return
      const { id = '' } = told(await speaker.send('hello'))
      expect(await speaker.push(id, 'https://hooks.example/a')).toBe('https://hooks.example/a')
    },
  ],
]

/** The increments of an answer; dialects whose last event repeats the whole have one text more. */
function chunksOf({ dialect }: Speaker, events: readonly Told[]): readonly string[] {
  const texts = events.filter(({ text }) => text).map(({ text }) => text ?? '')
  if (dialect === 'invoke' || dialect === 'chat-rpc') return texts.slice(0, -1)
  // A whole task repeats what it has.
  return dialect === 'task-rest'
    ? events.filter(({ state, text }) => !state && text).map(({ text }) => text ?? '')
    : texts
}

export function lastState(events: readonly Told[]): string | undefined {
  return events.findLast(({ state }) => state !== undefined)?.state
}

function merged(events: readonly Told[]): Told {
  return {
    id: events.find(({ id }) => id)?.id,
    contextId: events.find(({ contextId }) => contextId)?.contextId,
  }
}

function codeOf(outcome: Outcome): number | string {
  return isTold(outcome) ? `told: ${JSON.stringify(outcome.told)}` : outcome.refused.code
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const item of items) seen.push(item)
  return seen
}
