/** One client process with a thousand concurrent streams. */
import { agent, serve, working } from 'dragoman'
import { type ConnectOptions, connect } from 'dragoman/client'
import { describe, expect, it } from 'vitest'

const count = 1000
const ways: readonly ConnectOptions[] = [
  { dialect: 'v1', binding: 'JSONRPC' },
  { dialect: 'v1', binding: 'GRPC' },
]

describe.each(ways)('a thousand streams at once with %j', (options) => {
  it('are open concurrently, and each one ends separately', { timeout: 30_000 }, async () => {
    let openGate: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      openGate = resolve
    })
    const patient = agent('Patient', async function* ({ text }) {
      yield working()
      await gate
      yield `${text} done`
    })
    await using served = await serve(patient)
    await using client = await connect(served.url, options)
    let open = 0
    const follow = async (name: string): Promise<string> => {
      let text = ''
      for await (const update of client.stream(name)) {
        if ('task' in update && ++open === count) openGate()
        if ('artifactUpdate' in update) text += update.artifactUpdate.artifact.parts.map(textIn).join('')
      }
      return text
    }
    const names = Array.from({ length: count }, (_, place) => `stream ${place}`)
    expect(await Promise.all(names.map(follow))).toEqual(names.map((name) => `${name} done`))
  })
})

function textIn(part: object): string {
  return 'text' in part ? String(part.text) : ''
}
