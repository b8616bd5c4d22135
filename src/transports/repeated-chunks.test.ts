import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSender } from '../client/guarded-fetch.js'
import { clientDialects } from '../dialects/clients.js'
import type { StreamResponse } from '../model/event.js'
import { anonymous } from '../model/service.js'
import { createJsonRpcClient } from './jsonrpc/client.js'
import { RepeatedChunks } from './repeated-chunks.js'

const request = { message: { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] } }
const facts = { newId: () => 'made' }
const dialect = (name: string) =>
  clientDialects.find((each) => each.name === name) ?? expect.fail(`There is no dialect ${name}`)

/** Reads the frames through a client. */
async function read(name: string, frames: readonly string[]): Promise<unknown> {
  const body = frames.map((data) => `data: ${data}\n\n`).join('')
  const handle = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const send = createSender({ namedOrigins: [], handle })
  const client = createJsonRpcClient({ url: 'http://agent.example/', dialect: dialect(name), send, facts })
  const events: StreamResponse[] = []
  try {
    for await (const { event } of client.sendStreamingMessage(request, { caller: anonymous })) events.push(event)
    return { events }
  } catch (error) {
    return { events, error: String(error) }
  }
}

/** Reads each frame in a stream of its own, after a first frame that names the task. */
async function readApart(name: string, first: string, frames: readonly string[]): Promise<unknown> {
  const events: StreamResponse[] = []
  for (const frame of [undefined, ...frames]) {
    const alone = (await read(name, frame === undefined ? [first] : [first, frame])) as Awaited<
      ReturnType<typeof read>
    > & {
      readonly events: readonly StreamResponse[]
      readonly error?: string
    }
    events.push(...alone.events.slice(frame === undefined ? 0 : 1))
    if (alone.error !== undefined) return { events, error: alone.error }
  }
  return { events }
}

const wire = {
  v1: {
    task: { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
    chunk: (members: object) => ({ artifactUpdate: { taskId: 't', contextId: 'c', ...members } }),
    part: (text: string) => ({ text }),
  },
  'v0.3': {
    task: { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } },
    chunk: (members: object) => ({ kind: 'artifact-update', taskId: 't', contextId: 'c', ...members }),
    part: (text: string) => ({ kind: 'text', text }),
  },
}

describe.each(['v1', 'v0.3'] as const)('repeated chunks of %s', (name) => {
  const { task, chunk, part } = wire[name]
  const inEnvelope = (result: string) => `{"jsonrpc":"2.0","id":1,"result":${result}}`
  const first = inEnvelope(JSON.stringify(task))
  const text = fc.constantFrom(
    'a',
    'name',
    'text',
    'longer than thirteen characters',
    '',
    'ünï 😀',
    'q"uote\\ \n\t',
    '\u0001',
  )
  const frame = fc
    .record({
      text,
      name: fc.constantFrom(undefined, 'name', 'a'),
      append: fc.constantFrom(undefined, true),
      metadata: fc.constantFrom(undefined, undefined, undefined, { deep: { a: 1 } }),
      // Text that is not encoded: some of it is valid between the quotes, some adds members, some is not JSON.
      raw: fc.constantFrom(undefined, undefined, undefined, 'a\\u0041', 'b","filename":"f', 'c"', '\\', 'tab\tbed'),
    })
    .map(({ text: said, name: called, append, metadata, raw }) => {
      const parts = [part(raw === undefined ? said : 'RAW')]
      // A name that equals the text follows it.
      const artifact = { artifactId: 'a', parts, ...(called && { name: called }) }
      const json = JSON.stringify(chunk({ artifact, ...(append && { append }), ...(metadata && { metadata }) }))
      return inEnvelope(json.replace('RAW', () => raw ?? ''))
    })

  it('are read like single ones', async () => {
    const runs = fc.array(fc.tuple(frame, fc.integer({ min: 1, max: 4 })), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(runs, async (given) => {
        const frames = given.flatMap(([data, times]) => Array.from({ length: times }, () => data))
        expect(await read(name, [first, ...frames])).toEqual(await readApart(name, first, frames))
      }),
      { numRuns: 60 },
    )
  })

  it('are not parsed again', () => {
    const data = (said: string) => JSON.stringify(chunk({ artifact: { artifactId: 'a', parts: [part(said)] } }))
    const decoder = dialect(name).jsonrpc?.createStreamDecoder({
      operation: 'sendStreamingMessage',
      request,
      sent: request,
      facts,
    })
    const decode = (each: string) => decoder?.decode({ data: JSON.parse(each) }) ?? []
    const chunks = new RepeatedChunks()
    expect(chunks.read(data('a'))).toBeUndefined()
    chunks.learn(data('a'), decode(data('a')), decode)
    const second = chunks.read(data('b'))
    expect(second).toEqual(decode(data('b'))[0])
    expect(chunks.read(data('say "c"\n'))).toEqual(decode(data('say "c"\n'))[0])
    // Each event has its own objects.
    expect(second).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: 'b' }] } } })
    const tagged = (said: string) =>
      JSON.stringify(chunk({ metadata: { deep: { a: 1 } }, artifact: { artifactId: 'a', parts: [part(said)] } }))
    const learned = decode(tagged('a'))
    const others = new RepeatedChunks()
    others.learn(tagged('a'), learned, decode)
    // A reader that changes an event does not change later ones.
    Object.assign((learned[0] as { artifactUpdate: object }).artifactUpdate, { taskId: 'changed' }) // the type is read-only
    const copies = ['b', 'c'].map((said) => others.read(tagged(said)))
    expect(copies).toEqual(['b', 'c'].flatMap((said) => decode(tagged(said))))
    const metadata = [...learned, ...copies].map((event) =>
      event && 'artifactUpdate' in event ? event.artifactUpdate.metadata : undefined,
    )
    expect(new Set(metadata.map((each) => each?.deep)).size).toBe(3)
    // Another frame may change the ids that the decoder fills in.
    expect(chunks.read(first)).toBeUndefined()
    expect(chunks.read(data('d'))).toBeUndefined()
  })

  it('are recognised by their text, not by an equal text elsewhere', async () => {
    const named = (artifactName: string) =>
      inEnvelope(JSON.stringify(chunk({ artifact: { artifactId: 'a', parts: [part('a')], name: artifactName } })))
    const frames = ['a', 'a', 'b', 'c', 'a', 'b'].map(named)
    expect(await read(name, [first, ...frames])).toEqual(await readApart(name, first, frames))
  })

  it('take missing ids from the frames before them', async () => {
    const withoutContext = (said: string) =>
      inEnvelope(JSON.stringify(chunk({ contextId: undefined, artifact: { artifactId: 'a', parts: [part(said)] } })))
    const moved = inEnvelope(JSON.stringify(task).replace('"c"', '"other"'))
    const frames = [first, ...['a', 'b', 'c', 'd'].map(withoutContext), moved, ...['e', 'f', 'g'].map(withoutContext)]
    const { events } = (await read(name, frames)) as { readonly events: readonly StreamResponse[] }
    expect(events.flatMap((event) => ('artifactUpdate' in event ? event.artifactUpdate.contextId : []))).toEqual([
      ...['c', 'c', 'c', 'c'],
      ...['other', 'other', 'other'],
    ])
  })
})
