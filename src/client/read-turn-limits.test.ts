import { expect, test } from 'vitest'
import type { StreamResponse } from '../model/event.js'
import { data, type Part, text } from '../model/part.js'
import { readTurn, type TurnEvent } from './read-turn.js'

const ids = { taskId: 't', contextId: 'c' }

function chunk(artifactId: string, parts: readonly Part[], append = false): StreamResponse {
  return { artifactUpdate: { ...ids, artifact: { artifactId, parts }, append } }
}

function task(more: object = {}): StreamResponse {
  return { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, ...more } }
}

const completed: StreamResponse = { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } }

/** Stops after 200,000 events, so that a failing test ends. */
async function read(events: readonly StreamResponse[]): Promise<TurnEvent[]> {
  const stream = async function* () {
    yield { event: task() }
    for (const event of events) yield { event }
    yield { event: completed }
  }
  const all: TurnEvent[] = []
  for await (const event of readTurn(stream())) {
    all.push(event)
    if (all.length === 200_000) throw new Error('Too many events')
  }
  return all
}

function times(count: number, event: (index: number) => StreamResponse): StreamResponse[] {
  return Array.from({ length: count }, (_, index) => event(index))
}

const rewriteOfB = (index: number) => chunk('b', [text(index % 2 ? 'p' : 'q')])

test('a reset repeats a text that came in many chunks as one event', async () => {
  const chunks = times(20_000, (index) => chunk('a', [text('x')], index > 0))
  const events = await read([...chunks, ...times(200, rewriteOfB)])
  const texts = events.flatMap((event) => (event.kind === 'text' ? [event] : []))
  expect(events.filter(({ kind }) => kind === 'reset')).toHaveLength(199)
  expect(texts).toHaveLength(20_001 + 2 * 199)
  expect(texts.at(-2)).toMatchObject({ id: 'a', text: 'x'.repeat(20_000) })
})

const manyArtifacts = times(2000, (index) => chunk(`a${index}`, [text('x')]))

test.each([
  [
    'many parts',
    [
      chunk(
        'a',
        Array.from({ length: 2000 }, () => data({})),
      ),
    ],
    rewriteOfB,
  ],
  ['many artifacts', manyArtifacts, rewriteOfB],
  ['a long text', [chunk('a', [text('x'.repeat(1_000_000))])], rewriteOfB],
  ['the search for artifacts that a task does not have', manyArtifacts, () => task()],
])('an agent cannot make its caller repeat %s without end', async (_, first, next) => {
  await expect(read([...first, ...times(1000, next)])).rejects.toMatchObject({ code: 'INVALID_AGENT_RESPONSE' })
})

test('an artifact that a task has twice is compared once', async () => {
  let encoded = 0
  const value = { toJSON: () => ++encoded && 'value' } as never
  const copies = Array.from({ length: 100 }, () => ({ artifactId: 'a', parts: [text('x')] }))
  const artifacts = [...copies, { artifactId: 'a', parts: [data(value), text('x')] }]
  await read([chunk('a', [data(value)]), task({ artifacts })])
  expect(encoded).toBeLessThan(10)
})

test('an artifact that is replaced while there is no other is never refused', async () => {
  const events = await read(times(60_000, rewriteOfB))
  expect(events.at(-1)).toMatchObject({ kind: 'end' })
})
