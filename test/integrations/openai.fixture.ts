/** Agents and clients for the tests of `dragoman/openai`. */
import {
  type Agent,
  agent,
  artifact,
  ask,
  askAuth,
  bearer,
  failed,
  file,
  rejected,
  type ServeOptions,
  serve,
  working,
} from 'dragoman'
import { type OpenAiEndpointOptions, openAiEndpoint } from 'dragoman/openai'
import { gate } from 'dragoman/testing'
import OpenAI from 'openai'
import OpenAIv6 from 'openai-v6'

/** The official clients. The types of version 7 describe the calls of both. */
export const clients: readonly (readonly [string, typeof OpenAI])[] = [
  ['openai 7', OpenAI],
  ['openai 6', OpenAIv6 as unknown as typeof OpenAI],
]

const sizes = {
  type: 'object',
  properties: { size: { type: 'integer' }, cut: { type: 'string' } },
  required: ['size'],
} as const

/** An agent that does what its message says. */
export function tailor() {
  const release = gate()
  const started: string[] = []
  const canceled: string[] = []
  const finished: string[] = []
  const seen: { readonly text: string; readonly parts: readonly object[]; readonly metadata: unknown }[] = []
  const made: Agent = agent({ name: 'Tailor', description: 'Makes suits' }, async function* (turn) {
    const { text, message, history, signal } = turn
    seen.push({ text, parts: message.parts, metadata: message.metadata })
    const isAnswer = history.some(({ role }) => role === 'ROLE_AGENT')
    if (isAnswer) {
      yield `A ${text} suit`
      return
    }
    switch (text) {
      case 'stream':
        for (const each of ['one ', 'two ', 'three']) yield each
        return
      case 'ask':
        yield 'I need more. '
        yield ask('Which colour?')
        return
      case 'form':
        yield ask('Which size?', { schema: sizes })
        return
      case 'auth':
        yield askAuth('Sign in first')
        return
      case 'fail':
        yield failed('No cloth left')
        return
      case 'reject':
        yield rejected('I only make suits')
        return
      case 'crash':
        throw new Error('a secret of the handler')
      case 'files':
        yield artifact('sketch', [
          file(new URL('https://tailor.example/a(b).png'), { filename: 'sketch.png', mediaType: 'image/png' }),
        ])
        yield artifact('bill', [
          file(new TextEncoder().encode('42'), { filename: 'bill].txt', mediaType: 'text/plain' }),
        ])
        yield artifact('facts', [{ data: { size: 52 } }])
        return
      case 'wait':
        started.push(turn.task.id)
        signal.addEventListener('abort', () => canceled.push(turn.task.id))
        yield working('Cutting')
        yield 'Half a suit'
        await Promise.race([release.opened, new Promise((resolve) => signal.addEventListener('abort', resolve))])
        yield ', then the rest'
        finished.push(turn.task.id)
        return
      default:
        yield `You said: ${text}`
    }
  })
  return { agent: made, release, started, canceled, finished, seen }
}

export type Tailor = ReturnType<typeof tailor>

/** Serves a tailor with the endpoint on a free port. */
export async function serveTailor(
  options: OpenAiEndpointOptions = {},
  more: Partial<ServeOptions> = {},
  others: readonly Agent[] = [],
) {
  const made = tailor()
  const server = await serve(others.length > 0 ? [made.agent, ...others] : made.agent, {
    port: 0,
    auth: [bearer({ key: 'ann', 'other-key': 'bob' })],
    log: false,
    ...more,
    endpoints: [openAiEndpoint(options)],
  })
  return {
    ...made,
    server,
    baseURL: new URL('/v1', server.url).href,
    [Symbol.asyncDispose]: () => server.close({ deadlineMs: 0 }),
  }
}
