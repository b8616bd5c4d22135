/** Chats of AI SDK 6 and 7 whose page is reloaded at random moments end like a chat that was not reloaded. */
import type { UIMessage } from 'ai'
import {
  agent,
  approvals,
  approve,
  artifact,
  ask,
  data,
  type Served,
  serve,
  step,
  steps,
  text,
  working,
} from 'dragoman'
import { asChatTransport, chatEndpoint } from 'dragoman/ai-sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seeded } from '../process/seeded.js'
import { outline, type PlainChat, plainChat } from './ai-sdk-chat.js'
import { type Ai, majors } from './ai-sdk-payer.js'

const reloads = 20
let paid: string[] = []

/** One message of three turns: a question, an approval, a result. */
const payer = agent({ name: 'Payer', extensions: [steps, approvals] }, async function* (turn) {
  const id = `call-${turn.task.id}`
  if (turn.number === 1) {
    yield step({ kind: 'reasoning', id: 'r', text: 'I must ask. ' })
    yield step({ kind: 'reasoning', id: 'r', text: 'What?' })
    for (const word of 'Tell me one thing before I pay. '.split(/(?<= )/)) yield word
    yield artifact('price', data({ amount: 4 }), { id: 'price' })
    yield artifact('price', data({ amount: 5 }), { id: 'price' })
    return yield ask('Which account?')
  }
  if (turn.number === 2) {
    yield step({ kind: 'tool-call', id: 'look', name: 'look', input: { account: turn.text } })
    yield working('Looking')
    yield step({ kind: 'tool-result', id: 'look', name: 'look', output: { account: turn.text } })
    yield `I found ${turn.text}. `
    yield step({ kind: 'tool-call', id, name: 'pay', input: { amount: 5 } })
    return yield approve([{ id, name: 'pay', args: { amount: 5 } }])
  }
  if (turn.approvals?.get(id)?.approved) paid.push(turn.task.id)
  yield step({ kind: 'tool-result', id, name: 'pay', output: { paid: 5 } })
  for (const word of 'That is paid now.'.split(/(?<= )/)) yield word
  yield artifact('receipt', [text('Receipt'), data({ paid: 5 })])
})

let served: Served
beforeAll(async () => {
  served = await serve(payer, { endpoints: [chatEndpoint()] })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const ways = [
  ['asChatTransport', (_ai: Ai) => asChatTransport(served.url)],
  ['chatEndpoint', (ai: Ai) => new ai.DefaultChatTransport({ api: `${served.url}api/chat` })],
] as const

interface Run {
  readonly messages: UIMessage[]
  readonly changes: number
}

type ToolPart = Extract<UIMessage['parts'][number], { type: 'dynamic-tool' }>

describe.each(majors)('AI SDK %s', (_major, ai) => {
  it.each(ways)('%s', { timeout: 120_000 }, async (_way, transportOf) => {
    const random = seeded(18)
    const whole = await converse(ai, transportOf, [])
    expect(outline(whole.messages[1] as UIMessage)).toEqual([
      'step-start',
      'reasoning: I must ask. What?',
      'text: Tell me one thing before I pay. ',
      'data-price: {"amount":5}',
      'text: Which account?',
      'ask output-available "Savings"',
      'step-start',
      'look output-available {"account":"Savings"}',
      'text: I found Savings. ',
      'pay output-available {"paid":5}',
      'step-start',
      'text: That is paid now.',
      'text: Receipt',
      'data-receipt: {"paid":5}',
    ])
    for (let round = 0; round < reloads; round++) {
      const moments = [random(), random()].map((part) => 1 + Math.floor(part * whole.changes)).sort((a, b) => a - b)
      paid = []
      const { messages } = await converse(ai, transportOf, moments)
      expect(messages.map(shown), `reloaded at ${moments}`).toEqual(whole.messages.map(shown))
      expect(paid, `reloaded at ${moments}`).toHaveLength(1)
    }
  })
})

function shown(message: UIMessage) {
  const { state } = (message.metadata ?? {}) as { readonly state?: unknown }
  return { role: message.role, state, parts: outline(message) }
}

/** Talks to the payer. At each moment, counted in changes of the page, the page is replaced by a new one. */
async function converse(ai: Ai, transportOf: (ai: Ai) => unknown, moments: readonly number[]): Promise<Run> {
  const id = crypto.randomUUID()
  let changes = 0
  let isReloaded = false
  let reload: () => void = () => undefined
  const open = (messages: readonly UIMessage[]): PlainChat => {
    const page = plainChat(ai, { id, messages, transport: transportOf(ai) as never })
    page.onChange = () => {
      changes += 1
      if (!moments.includes(changes)) return
      // The old page is gone; requests that it has sent arrive.
      page.onChange = () => undefined
      stored = page.messages()
      isReloaded = true
      reload()
    }
    return page
  }
  let stored: UIMessage[] = []
  let page = open([])
  let step: Promise<unknown> = page.chat.sendMessage({ text: 'pay' })
  for (let attempt = 0; attempt < 100; attempt++) {
    const reloading = new Promise<void>((resolve) => {
      reload = resolve
    })
    if (!isReloaded) await Promise.race([step.then(() => page.idle()), reloading])
    if (isReloaded) {
      isReloaded = false
      page = open(stored)
      step = page.chat.resumeStream()
      continue
    }
    const last = page.messages().at(-1) as UIMessage
    const open_ = last.parts.findLast((part): part is ToolPart => part.type === 'dynamic-tool')
    const state = (last.metadata as { readonly state?: string } | undefined)?.state
    if (page.chat.status === 'ready' && open_?.state === 'approval-requested')
      step = page.chat.addToolApprovalResponse({ id: open_.approval.id, approved: true }) as Promise<void>
    else if (page.chat.status === 'ready' && open_?.toolName === 'ask' && open_.state === 'input-available')
      step = page.chat.addToolOutput({
        tool: 'ask',
        toolCallId: open_.toolCallId,
        output: 'Savings',
      } as never) as Promise<void>
    else if (last.role === 'assistant' && state === 'completed') return { messages: page.messages(), changes }
    // The request of the old page was still under way: a user would reload once more.
    else step = page.chat.resumeStream()
  }
  throw new Error('The conversation does not end')
}
