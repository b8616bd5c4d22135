/**
 * An agent for tests, benchmarks and `dragoman serve --echo`. It repeats the text it receives; the first word of a text
 * can ask for something else:
 *
 * - `msg TEXT` replies with a message and creates no task
 * - `chunks N [MS]` streams N chunks, MS milliseconds apart
 * - `sleep MS` answers after MS milliseconds
 * - `ask` asks for a second text, then answers with both
 * - `auth` asks for a credential
 * - `fail`, `reject` and `crash` end the task without success
 * - `file` and `data` answer with a file and with structured data
 */
import { type Agent, agent, type Turn } from '../engine/agent.js'
import { artifact, ask, askAuth, failed, rejected, reply, working, type Yield } from '../engine/yields.js'
import { data, file, text, textOf } from '../model/part.js'

type Behaviour = (turn: Turn, rest: string) => AsyncIterable<Yield>

const behaviours: { readonly [word: string]: Behaviour } = {
  async *msg(_turn, rest) {
    yield reply(rest)
  },
  async *chunks(turn, rest) {
    const [count = 1, delayMs = 0] = rest.split(/\s+/).map(Number)
    yield working()
    for (let i = 1; i <= count; i++) {
      if (delayMs > 0) await pause(delayMs, turn.signal)
      yield artifact('chunks', text(`chunk ${i} `), { append: i > 1, lastChunk: i === count })
    }
  },
  async *sleep(turn, rest) {
    yield working()
    await pause(Number(rest) || 0, turn.signal)
    yield `slept ${rest}`
  },
  async *ask() {
    yield ask('What is the second text?')
  },
  async *auth() {
    yield askAuth('A credential is needed')
  },
  async *fail() {
    yield failed('Failed as asked')
  },
  async *reject() {
    yield rejected('Rejected as asked')
  },
  async *crash() {
    throw new Error('Crashed as asked')
  },
  async *file() {
    yield artifact(
      'file',
      file(new TextEncoder().encode('The quick brown fox\n'), { filename: 'fox.txt', mediaType: 'text/plain' }),
    )
  },
  async *data() {
    yield artifact('data', data({ answer: 42, list: [1, 2, 3], nested: { yes: true, nothing: null } }))
  },
}

/**
 * Repeats the text it receives. The words `msg`, `chunks`, `sleep`, `ask`, `auth`, `fail`, `reject`, `crash`, `file` and
 * `data` make it do something else: `chunks 10 100` streams ten chunks, 100 ms apart.
 */
export const echoAgent: Agent = agent(
  {
    name: 'Echo',
    description: 'Returns the text of each message, and has commands for tests',
    version: '1.0.0',
    capabilities: { pushNotifications: true },
    skills: [
      {
        id: 'echo',
        name: 'Echo',
        description: 'Repeats the text; understands msg, chunks, sleep, ask, auth, fail, reject, crash, file and data',
        tags: ['test', 'echo'],
        examples: ['hello', 'chunks 10 100', 'ask', 'sleep 5000'],
      },
    ],
  },
  async function* (turn) {
    // Answers `auth`: the credential came by `provideCredential`, not in a message.
    if (turn.credential !== undefined) {
      yield `${turn.text}: authorised`
      return
    }
    const [first, ...later] = turn.history
    if (first && later.length > 0) {
      yield `${textOf(first)}\n${turn.text}`
      return
    }
    const [word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(turn.text)?.slice(1) ?? []
    const behave = Object.hasOwn(behaviours, word) ? behaviours[word] : undefined
    if (behave) yield* behave(turn, rest)
    else yield turn.text || ' '
  },
)

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
  })
}
