/** A question of a chat is answered once, by the first answer. */
import type { UIMessage, UIMessageChunk } from 'ai'
import { agent, approvals, approve, ask, serve } from 'dragoman'
import { asChatTransport } from 'dragoman/ai-sdk'
import { type AgentClient, connect } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { gate } from '../../src/testing/wait.js'

const closed = 'The question is not open any more'
let answers: string[] = []

/** Asks two questions, or for two approvals. */
const asker = agent({ name: 'Asker', extensions: [approvals] }, async function* ({ number, text, approvals: decided }) {
  if (number > 1) answers.push(decided ? [...decided.keys()].join() : text)
  if (number === 3) return yield `Made ${text}`
  const tool = { id: `call-${number}`, name: 'pay', args: {} }
  yield text === 'pay' || decided ? approve([tool]) : ask(`Question ${number}`)
})

type Parts = UIMessage['parts']

/** A page that sends its requests itself. */
class Page {
  readonly #transport: ReturnType<typeof asChatTransport>
  readonly #chatId = crypto.randomUUID()

  constructor(client: AgentClient) {
    this.#transport = asChatTransport(client)
  }

  async send(...messages: UIMessage[]): Promise<UIMessageChunk[]> {
    const trigger = 'submit-message'
    const more = { chatId: this.#chatId, messageId: undefined, abortSignal: undefined }
    const chunks: UIMessageChunk[] = []
    for await (const chunk of await this.#transport.sendMessages({ trigger, messages, ...more })) chunks.push(chunk)
    return chunks
  }
}

function user(text: string): UIMessage {
  return { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }
}

/** The message of the page that shows a question, with its answer. */
function shown(asked: readonly UIMessageChunk[], answer?: string): UIMessage {
  const start = asked.find((chunk) => chunk.type === 'start')
  const call = asked.find((chunk) => chunk.type === 'tool-input-available')
  const approval = asked.find((chunk) => chunk.type === 'tool-approval-request')
  const { toolCallId, toolName } = call as Extract<UIMessageChunk, { type: 'tool-input-available' }>
  const part = { type: 'dynamic-tool', toolCallId, toolName, input: {} }
  const decided = { state: 'approval-responded', approval: { id: approval?.approvalId, approved: answer === 'yes' } }
  const given = answer === undefined ? { state: 'input-available' } : { state: 'output-available', output: answer }
  const parts = [{ type: 'step-start' }, { ...part, ...(approval ? decided : given) }] as Parts
  return { id: start?.messageId as string, role: 'assistant', parts }
}

/** A client whose requests for tasks are answered together: each page has seen that the question is open. */
function together(client: AgentClient, count: number): AgentClient {
  const all = gate()
  let waiting = 0
  return {
    ...client,
    getTask: async (...args) => {
      const task = await client.getTask(...args)
      waiting += 1
      if (waiting === count) all.open()
      await all.opened
      return task
    },
  }
}

describe('answers that arrive together', () => {
  const ways: [string, string[], (asked: readonly UIMessageChunk[], answer: string) => UIMessage[]][] = [
    ['outputs of the tool', ['red', 'blue', 'red', 'green'], (asked, answer) => [shown(asked, answer)]],
    ['typed texts', ['red', 'blue', 'red', 'green'], (asked, answer) => [shown(asked), user(answer)]],
    ['approvals', ['yes', 'no', 'yes', 'yes'], (asked, answer) => [shown(asked, answer)]],
  ]
  it.each(ways)('%s: the first one counts, and the same one is shown its result', async (kind, given, messagesOf) => {
    answers = []
    await using served = await serve(asker)
    await using client = await connect(served.url)
    const page = new Page(together(client, given.length))
    const asked = await page.send(user(kind === 'approvals' ? 'pay' : 'suit'))
    const results = await Promise.allSettled(given.map((answer) => page.send(...messagesOf(asked, answer))))
    expect(answers).toHaveLength(1)
    const winner = results.findIndex(({ status }) => status === 'fulfilled')
    for (const [place, result] of results.entries()) {
      if (result.status === 'rejected') expect((result.reason as Error).message).toBe(closed)
      else expect(result.value.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { state: 'input-required' } })
      expect(result.status).toBe(given[place] === given[winner] ? 'fulfilled' : 'rejected')
    }
  })
})

describe('an answer to a question', () => {
  it.each([
    ['suit', 'red'],
    ['pay', 'yes'],
  ])('does not answer the next one: %s', async (text, answer) => {
    answers = []
    await using served = await serve(asker)
    await using client = await connect(served.url)
    const page = new Page(client)
    const asked = await page.send(user(text))
    await page.send(shown(asked, answer))
    await expect(page.send(shown(asked, answer === 'yes' ? 'no' : 'blue'))).rejects.toThrow(closed)
    await expect(page.send(shown(asked, answer))).rejects.toThrow(closed)
    expect(answers).toHaveLength(1)
  })
})
