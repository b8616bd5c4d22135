/** Chats of AI SDK 6 and 7 with an agent: through `asChatTransport`, and through `chatEndpoint`. */
import type { UIMessage } from 'ai'
import {
  agent,
  approvals,
  approve,
  artifact,
  ask,
  bearer,
  data,
  failed,
  file,
  type Served,
  serve,
  step,
  steps,
} from 'dragoman'
import { asChatTransport, chatEndpoint } from 'dragoman/ai-sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gate } from '../../src/testing/wait.js'
import { outline, plainChat } from './ai-sdk-chat.js'
import { type Ai, majors } from './ai-sdk-payer.js'

let stopped = gate()
const payer = agent(
  { name: 'Payer', extensions: [steps, approvals], defaultInputModes: ['*/*'] },
  async function* (turn) {
    const [word] = turn.text.split(' ')
    if (turn.number > 1) {
      for (const [id, { approved, reason }] of turn.approvals ?? []) {
        if (approved) yield step({ kind: 'tool-result', id, name: 'pay', output: { paid: 5 } })
        yield approved ? 'Paid' : `Not paid${reason ? `: ${reason}` : ''}`
      }
      if (!turn.approvals) yield `You said ${JSON.stringify(turn.data() ?? turn.text)}`
      return
    }
    switch (word) {
      case 'pay':
        yield 'Let me pay. '
        yield step({ kind: 'tool-call', id: `call-${turn.task.id}`, name: 'pay', input: { amount: 5 } })
        return yield approve([{ id: `call-${turn.task.id}`, name: 'pay', args: { amount: 5 } }])
      case 'ask':
        return yield ask('Which colour?', { schema: { type: 'object', properties: { colour: { type: 'string' } } } })
      case 'fail':
        yield 'Trying'
        return yield failed('No cloth')
      case 'slow':
        yield 'Waiting'
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
        stopped.open()
        return
      case 'files':
        yield artifact('photo', file(new Uint8Array([1, 2]), { mediaType: 'image/png' }))
        yield artifact('size', data({ chest: 100 }), { id: 's' })
        return yield artifact('size', data({ chest: 101 }), { id: 's' })
      case 'script':
        return yield artifact('page', file(new URL('javascript:alert(1)'), { mediaType: 'text/html' }))
      case 'echo':
        return yield JSON.stringify(turn.message.parts.slice(1))
      default:
        yield step({ kind: 'reasoning', id: 'r', text: 'Hm.' })
        yield `Hello ${turn.message.referenceTaskIds?.length ?? 0}`
    }
  },
)

let served: Served
beforeAll(async () => {
  served = await serve(payer, { endpoints: [chatEndpoint()] })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const ways = [
  ['asChatTransport', (_ai: Ai) => asChatTransport(served.url)],
  ['chatEndpoint', (ai: Ai) => new ai.DefaultChatTransport({ api: `${served.url}api/chat` })],
] as const

describe.each(majors)('AI SDK %s', (_major, ai) => {
  describe.each(ways)('%s', (way, transportOf) => {
    const newChat = () => plainChat(ai, { id: crypto.randomUUID(), transport: transportOf(ai) })

    it('answers', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'Hi' })
      expect(await idle()).toBe('ready')
      expect(outline(messages()[1] as UIMessage)).toEqual(['step-start', 'reasoning: Hm.', 'text: Hello 0'])
      expect(messages()[1]?.metadata).toMatchObject({ state: 'completed', contextId: chat.id })
    })

    it('asks for approval and continues the message', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'pay' })
      await idle()
      const asked = messages()[1]
      expect(outline(asked as UIMessage)).toEqual(['step-start', 'text: Let me pay. ', 'pay approval-requested'])
      const part = asked?.parts[2] as { approval: { id: string } }
      await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
      await idle()
      expect(messages()).toHaveLength(2)
      expect(outline(messages()[1] as UIMessage)).toEqual([
        'step-start',
        'text: Let me pay. ',
        'pay output-available {"paid":5}',
        'step-start',
        'text: Paid',
      ])
    })

    it('denies', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'pay' })
      await idle()
      const part = messages()[1]?.parts[2] as { approval: { id: string } }
      await chat.addToolApprovalResponse({ id: part.approval.id, approved: false, reason: 'Too much' })
      await idle()
      expect(outline(messages()[1] as UIMessage).slice(2)).toEqual([
        'pay output-denied',
        'step-start',
        'text: Not paid: Too much',
      ])
    })

    it('takes typed text as the decision', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'pay' })
      await idle()
      await chat.sendMessage({ text: 'Not today' })
      await idle()
      expect(outline(messages()[3] as UIMessage)).toEqual(['step-start', 'text: Not paid: Not today'])
      await chat.sendMessage({ text: 'Hi' })
      await idle()
      expect(outline(messages()[5] as UIMessage).at(-1)).toBe('text: Hello 0')
    })

    it('asks questions, which a form or a message answers', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'ask' })
      await idle()
      expect(outline(messages()[1] as UIMessage)).toEqual(['step-start', 'text: Which colour?', 'ask input-available'])
      const part = messages()[1]?.parts[2] as { toolCallId: string; input: unknown }
      expect(part.input).toMatchObject({ question: 'Which colour?', schema: { type: 'object' } })
      await chat.addToolOutput({ tool: 'ask', toolCallId: part.toolCallId, output: { colour: 'blue' } } as never)
      await idle()
      expect(messages()).toHaveLength(2)
      expect(outline(messages()[1] as UIMessage).slice(2)).toEqual([
        'ask output-available {"colour":"blue"}',
        'step-start',
        'text: You said {"colour":"blue"}',
      ])
      await chat.sendMessage({ text: 'ask' })
      await idle()
      await chat.sendMessage({ text: '{"colour":"red"}' })
      await idle()
      expect(outline(messages()[5] as UIMessage)).toEqual(['step-start', 'text: You said {"colour":"red"}'])
    })

    it('regenerates with a new task', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'Hi' })
      await idle()
      const first = messages()[1]
      await chat.regenerate({ messageId: first?.id as string })
      await idle()
      expect(messages()).toHaveLength(2)
      expect(messages()[1]?.id).not.toBe(first?.id)
      await chat.regenerate()
      await idle()
      expect(messages()).toHaveLength(2)
      expect(outline(messages()[1] as UIMessage).at(-1)).toBe('text: Hello 1')
    })

    it('shows files, data and transient progress, and sends them', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'files' })
      await idle()
      expect(outline(messages()[1] as UIMessage)).toEqual(['step-start', 'file image/png', 'data-size: {"chest":101}'])
      const files = [
        { type: 'file' as const, mediaType: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AQI=' },
      ]
      const parts = [
        { type: 'text' as const, text: 'echo' },
        ...files,
        { type: 'data-size' as const, data: { chest: 9 } },
      ]
      await chat.sendMessage({ parts } as never)
      await idle()
      const text = outline(messages()[3] as UIMessage).at(-1) as string
      expect(JSON.parse(text.slice('text: '.length))).toEqual([
        { raw: 'AQI=', mediaType: 'image/png', filename: 'a.png' },
        { data: { chest: 9 } },
      ])
    })

    it('shows links that are no web addresses as text', async () => {
      const { chat, idle, messages } = newChat()
      await chat.sendMessage({ text: 'script' })
      await idle()
      expect(outline(messages()[1] as UIMessage)).toEqual(['step-start', 'text: javascript:alert(1)'])
    })

    it('shows why a task failed', async () => {
      const { chat, idle } = newChat()
      await chat.sendMessage({ text: 'fail' })
      expect(await idle()).toBe('error')
      expect(chat.error?.message).toBe('The agent failed: No cloth')
    })

    it('stops', async () => {
      stopped = gate()
      const page = newChat()
      const begun = gate()
      page.onChange = () => {
        if (page.messages().at(-1)?.role === 'assistant') begun.open()
      }
      const sending = page.chat.sendMessage({ text: 'slow' })
      await begun.opened
      // Behind an endpoint, a page that stops looks like one that is reloaded.
      if (way === 'asChatTransport') await page.chat.stop()
      else expect((await fetch(`${served.url}api/chat/${page.chat.id}`, { method: 'DELETE' })).status).toBe(204)
      await stopped.opened
      await sending
    })
  })
})

describe('chatEndpoint', () => {
  it('separates callers with the same chat id', async () => {
    const tokens = { 'token-ann-0123456789': 'ann', 'token-bob-0123456789': 'bob' }
    await using guarded = await serve(payer, { auth: bearer(tokens), endpoints: [chatEndpoint({ path: '/chat' })] })
    const [, ai] = majors[1] as (typeof majors)[number]
    const chatOf = (name: string, messages: readonly UIMessage[] = []) => {
      const headers = { authorization: `Bearer token-${name}-0123456789` }
      return plainChat(ai, {
        id: 'same',
        messages,
        transport: new ai.DefaultChatTransport({ api: `${guarded.url}chat`, headers }),
      })
    }
    const ann = chatOf('ann')
    await ann.chat.sendMessage({ text: 'pay' })
    await ann.idle()
    const bob = chatOf('bob')
    await bob.chat.resumeStream()
    expect(bob.messages()).toEqual([])
    await bob.chat.sendMessage({ text: 'Hi' })
    await bob.idle()
    expect(outline(bob.messages()[1] as UIMessage).at(-1)).toBe('text: Hello 0')
    const stolen = chatOf('bob', ann.messages())
    const part = ann.messages()[1]?.parts[2] as { approval: { id: string } }
    await stolen.chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
    expect(await stolen.idle()).toBe('error')
    expect(stolen.chat.error?.message).toMatch(/^Task not found/)
    const authorization = 'Bearer token-bob-0123456789'
    await fetch(`${guarded.url}chat/same`, { method: 'DELETE', headers: { authorization } })
    await ann.chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
    expect(await ann.idle()).toBe('ready')
    expect(outline(ann.messages()[1] as UIMessage).at(-1)).toBe('text: Paid')
    expect((await fetch(`${guarded.url}chat/same/stream`)).status).toBe(401)
  })

  const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
  const asked = (part: object) => ({
    id: 't_1',
    role: 'assistant',
    parts: [{ type: 'dynamic-tool', toolCallId: 'c', ...part }],
  })
  it.each([
    ['no JSON', '{', 400],
    ['no object', '[]', 400],
    ['no id', { messages: [user] }, 400],
    ['an empty id', { id: '', messages: [user] }, 400],
    ['a long id', { id: 'a'.repeat(10_000), messages: [user] }, 400],
    ['no messages', { id: 'c', messages: [] }, 400],
    ['messages that are no list', { id: 'c', messages: { length: 1 } }, 400],
    ['another trigger', { id: 'c', messages: [user], trigger: 'delete' }, 400],
    ['a message that is null', { id: 'c', messages: [null] }, 400],
    ['parts that are null', { id: 'c', messages: [{ ...user, parts: [null] }] }, 400],
    ['another role', { id: 'c', messages: [{ ...user, role: '__proto__' }] }, 400],
    ['a system message', { id: 'c', messages: [{ ...user, role: 'system' }] }, 400],
    ['nothing to send', { id: 'c', messages: [{ ...user, parts: [{ type: 'text' }] }] }, 400],
    [
      'a link to a file of the server',
      { id: 'c', messages: [{ ...user, parts: [{ type: 'file', url: 'file:///etc/passwd' }] }] },
      400,
    ],
    ['an answer to nothing', { id: 'c', messages: [{ id: 't_1', role: 'assistant', parts: [] }] }, 400],
    ['an answer to a message of another server', { id: 'c', messages: [{ ...asked({}), id: 'x' }] }, 400],
    [
      'an answer to another task',
      { id: 'c', messages: [asked({ toolName: 'ask', state: 'output-available', output: 1 })] },
      404,
    ],
    [
      'an undecided approval',
      { id: 'c', messages: [asked({ toolName: 'pay', state: 'approval-responded', approval: {} })] },
      400,
    ],
    [
      'a question that is not answered',
      { id: 'c', messages: [asked({ toolName: 'ask', state: 'input-available' })] },
      400,
    ],
    ...['javascript:alert(1)', 'data:image/png;base64,@@@', 'AQI=', `https://a.example/${'x'.repeat(9000)}`].map(
      (url): [string, object, number] => [
        `the file ${url.slice(0, 25)}`,
        { id: 'c', messages: [{ ...user, parts: [{ type: 'file', mediaType: 'image/png', url }] }] },
        400,
      ],
    ),
    ['many messages', { id: 'c', messages: Array(200_000).fill(0) }, 413],
    [
      'a large body',
      { id: 'c', messages: [{ ...user, parts: [{ type: 'text', text: 'a'.repeat(20_000_000) }] }] },
      413,
    ],
  ])('refuses %s', async (_name, body, status) => {
    const response = await fetch(`${served.url}api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    expect([response.status, text]).toEqual([status, expect.stringMatching(/^[A-Z[a-z].{3,300}$/s)])
    expect(response.headers.get('content-type')).toContain('text/plain')
  })

  it.each([
    ['GET', 'api/chat/%ff/stream', 400],
    ['GET', 'api/chat/unknown/stream', 204],
    ['DELETE', 'api/chat/unknown', 204],
    ['GET', 'api/chat', 404],
    ['PUT', 'api/chat/c', 404],
    ['GET', 'api/chat/c/stream/more', 404],
  ])('answers %s %s with %i', async (method, path, status) => {
    expect((await fetch(served.url + path, { method })).status).toBe(status)
  })

  it('begins a new task if the question of an old page is gone', async () => {
    const old = asked({ toolName: 'ask', state: 'input-available' })
    const response = await fetch(`${served.url}api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'c', messages: [old, user] }),
    })
    expect(await response.text()).toMatch(/"delta":"Hello 0".*data: \[DONE\]\n\n$/s)
  })

  it('serves the agent that it names', async () => {
    const other = agent('Other', async function* () {
      yield 'I am the other'
    })
    const none = chatEndpoint({ path: '/none', agent: 'None' })
    const options = { endpoints: [chatEndpoint({ agent: 'Other' }), none, chatEndpoint({ path: '/any' })] }
    await using two = await serve([payer, other], options)
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ id: 'c', messages: [user] })
    const post = (path: string) => fetch(new URL(path, two.url), { method: 'POST', headers, body })
    expect(await (await post('/api/chat')).text()).toContain('I am the other')
    expect((await post('/none')).status).toBe(404)
    const unclear = await post('/any')
    expect([unclear.status, await unclear.text()]).toEqual([404, expect.stringContaining('set the option `agent`')])
  })
})
