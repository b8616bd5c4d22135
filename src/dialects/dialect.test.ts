import { describe, expect, it } from 'vitest'
import type { Artifact } from '../model/artifact.js'
import type { TaskArtifactUpdateEvent } from '../model/event.js'
import { TextChunks } from '../model/event-json.js'
import { withClientDialects } from './client-dialects.js'
import { clientDialects } from './clients.js'
import { dialectContract } from './dialect.contract.js'
import { bindingsOf, dialectNames } from './dialect.js'
import { createDialects } from './servers.js'

describe('the dialects of this package', () => {
  it('are the same on both sides, and have the published names', () => {
    expect(createDialects().map(({ name }) => name)).toEqual(dialectNames)
    expect(clientDialects.map(({ name }) => name)).toEqual(dialectNames)
  })

  it.each(clientDialects)('have an outline that agrees with the codecs: $name', async (dialect) => {
    const { outlines, load } = withClientDialects()
    expect([...outlines.keys()]).toEqual(dialectNames)
    const { bindings, paths = [], card, omitsTaskOnSubscribe, ...facts } = outlines.get(dialect.name) ?? expect.fail()
    expect(await load(dialect.name)).toBe(dialect)
    expect(dialect).toMatchObject(facts)
    expect(bindings).toEqual(bindingsOf(dialect))
    expect(paths).toEqual(Object.values(dialect.jsonrpc?.paths ?? {}))
    expect(card?.recognise).toBe(dialect.card?.recognise)
    expect(card?.alternatives).toEqual(dialect.card?.alternatives)
    expect(omitsTaskOnSubscribe).toBe(dialect.omitsTaskOnSubscribe)
  })
})

describe('the chunks of a streamed text', () => {
  const about = { taskId: 't', contextId: 'c', append: true }
  const toWire = ({ taskId, artifact }: TaskArtifactUpdateEvent, number: number) => ({ taskId, artifact, number })

  it.each<Omit<Artifact, 'parts'>>([
    { artifactId: 'a' },
    { artifactId: '\0' },
    { artifactId: 'a', name: '9007199254740991' },
    { artifactId: '9007199254740991', description: '\0' },
    { artifactId: 'a', metadata: { text: '\0', number: Number.MAX_SAFE_INTEGER } },
  ])('have the same JSON as each chunk alone: %j', (artifact) => {
    const chunks = new TextChunks(toWire)
    for (const [number, text] of ['a', 'b', '"\n', '\0', '9007199254740991', '\ud800'].entries()) {
      const update = { ...about, artifact: { ...artifact, parts: [{ text }] } }
      expect(chunks.encode(update, number)).toBe(JSON.stringify(toWire(update, number)))
    }
  })

  it('may alternate between artifacts, and with parts that are more than text', () => {
    const chunks = new TextChunks(toWire)
    for (let number = 0; number < 24; number++) {
      const text = `chunk ${number}`
      const others = [
        [{ text, mediaType: 'text/html' }],
        [{ text, own: 1 }],
        [{ text }, { text }],
        [{ data: text }],
        [],
      ]
      const parts = (number % 4 === 3 ? others[(number - 3) / 4] : undefined) ?? [{ text }]
      const artifact = { artifactId: number % 12 < 6 ? 'a' : 'b', parts }
      const update = { ...about, lastChunk: number === 23, artifact }
      expect(chunks.encode(update, number)).toBe(JSON.stringify(toWire(update, number)))
    }
  })
})

for (const server of createDialects()) {
  const client = clientDialects.find(({ name }) => name === server.name)
  if (client) dialectContract({ describe, it }, { server, client })
}
