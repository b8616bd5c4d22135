/** Agents and servers for tests of the MCP endpoint. */
import {
  type Agent,
  agent,
  artifact,
  ask,
  askAuth,
  data,
  failed,
  file,
  type ServeOptions,
  serve,
  text,
  working,
} from 'dragoman'
import { type McpEndpointOptions, mcpEndpoint } from 'dragoman/mcp'
import { gate } from 'dragoman/testing'

export const clothForm = {
  type: 'object',
  properties: {
    cloth: { type: 'string', enum: ['wool', 'silk'] },
    length: { type: 'integer', minimum: 1 },
  },
  required: ['cloth'],
}

/** Creates an agent that does what the first message names. `finish` ends its slow work; `stopped` settles when it is aborted. */
export function createTailor() {
  const [begun, finish, stopped] = [gate(), gate(), gate()]
  const tailor = agent({ name: 'Tailor', description: 'Sews suits' }, async function* (turn) {
    const { text: said, number, signal } = turn
    if (number > 1 && said !== 'slow') yield `Made: ${said || JSON.stringify(turn.data())}`
    else if (said === 'fail') yield failed('No cloth left')
    else if (said === 'throw') throw new Error('secret')
    else if (said === 'data') yield artifact('measure', data({ chest: 100 }))
    else if (said === 'lists') yield artifact('measure', [data([1]), data(2)])
    else if (said === 'files')
      yield artifact('files', [
        file(new Uint8Array([1, 2]), { mediaType: 'image/png', filename: 'a.png' }),
        file(new Uint8Array([3]), { mediaType: 'audio/wav' }),
        file(new Uint8Array([4]), { mediaType: 'application/pdf', filename: 'b.pdf' }),
        file(new URL('https://files.example/c.txt'), { filename: 'c.txt' }),
      ])
    else if (said === 'progress') {
      yield working('Cutting')
      yield working('Sewing')
      await finish.opened
      yield 'Done'
    } else if (said === 'form') {
      yield artifact('draft', text('A draft.'))
      yield ask('Which cloth?', { schema: clothForm })
    } else if (said === 'suit') yield ask('Which size?')
    else if (said === 'sign in') {
      if (turn.credential === undefined) yield askAuth('Sign in at https://login.example/start?task=1')
      yield `Signed in with ${String(turn.credential)}`
    } else if (said === 'slow') {
      signal.addEventListener('abort', () => stopped.open())
      begun.open()
      yield 'Half. '
      await Promise.race([finish.opened, stopped.opened])
      yield 'Whole.'
    } else yield `Sewn: ${said}`
  })
  return { tailor, begun, finish, stopped }
}

/** Serves agents with the endpoint. `url` is its address. */
export async function serveMcp(
  agents: Agent | readonly Agent[],
  endpoint: McpEndpointOptions = {},
  options: Partial<ServeOptions> = {},
) {
  const all = { port: 0, log: false, ...options, endpoints: [mcpEndpoint(endpoint)] } as const
  const served = await serve(agents as Agent, all)
  const { origin } = new URL(served.url)
  return { served, url: `${origin}/mcp`, [Symbol.asyncDispose]: () => served.close({ deadlineMs: 0 }) }
}
