/** One trace spans the client, the server, the turn, the agents it calls, and webhook deliveries. */
import { trace } from '@opentelemetry/api'
import { agent, apiKey, ask, failed, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { workflow } from 'dragoman/orchestrator'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { send, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { openHook } from '../push/hook.js'
import { SpanRecorder } from './span-recorder.js'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${traceId}-b7ad6b7169203331-01`
const tracestate = 'congo=t61rcWkgMzE,rojo=1'

const shout = agent({ name: 'Shout', capabilities: { pushNotifications: true } }, async function* ({ text }) {
  yield text.toUpperCase()
})

/** Responds with the trace context of its turn. */
const aware = agent('Aware', async function* (turn) {
  yield `${turn.traceparent ?? 'none'} ${turn.tracestate ?? ''}`
})

describe('without an SDK', () => {
  it('a trace context is propagated to the turn and to the agents it calls', async () => {
    const asking = agent('Asking', async function* (turn) {
      yield (await turn.call('Aware', 'what trace?')).text
    })
    await using served = await serve([aware, asking])
    await using client = await connect(served.agents[1]?.url ?? '')
    const answer = await client.sendMessage(send('go'), { traceparent, tracestate })
    expect(JSON.stringify(answer)).toContain(`${traceparent} ${tracestate}`)
  })

  it('an invalid trace context is dropped', async () => {
    await using served = await serve(aware)
    await using client = await connect(served.url)
    expect(JSON.stringify(await client.sendMessage(send('go'), { traceparent: 'nonsense' }))).toContain('none')
  })
})

/** Attributes of each binding, by the semantic conventions. */
const system = {
  JSONRPC: { 'rpc.system': 'jsonrpc', 'jsonrpc.protocol.version': '2.0' },
  'HTTP+JSON': {},
  GRPC: { 'rpc.system': 'grpc' },
}

describe('with an SDK', () => {
  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('a call over %s is one trace, on both sides', async (binding) => {
    using recorder = new SpanRecorder()
    await using served = await serve(shout)
    await using client = await connect(served.url, { binding })
    const answer = await client.sendMessage(send('hello', { contextId: 'c1' }), { traceparent })
    await until(() => recorder.spans.every(({ isEnded }) => isEnded))
    expect(recorder.paths()).toEqual([
      'client SendMessage',
      'client SendMessage > server SendMessage',
      'client SendMessage > server SendMessage > internal invoke_agent Shout',
    ])
    expect(new Set(recorder.spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
    expect(recorder.spans[0]?.parentId).toBe('b7ad6b7169203331')
    const taskId = 'task' in answer ? answer.task.id : ''
    const [out, come, turn] = recorder.spans
    expect(out?.attributes).toEqual({
      'gen_ai.agent.name': 'Shout',
      'rpc.method': 'SendMessage',
      'a2a.protocol.binding': binding,
      'a2a.protocol.dialect': 'v1',
      'a2a.agent.card.url': `${served.url}.well-known/agent-card.json`,
      'server.address': new URL(served.url).host,
      ...system[binding],
    })
    expect(come?.attributes).toEqual({
      'gen_ai.agent.name': 'Shout',
      'rpc.method': 'SendMessage',
      'a2a.protocol.binding': binding,
      'a2a.protocol.dialect': 'v1',
      'gen_ai.conversation.id': 'c1',
      'a2a.task.id': taskId,
      'client.address': '127.0.0.1',
      ...system[binding],
    })
    expect(turn?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Shout',
      'gen_ai.conversation.id': 'c1',
      'a2a.task.id': taskId,
      'a2a.task.state': 'TASK_STATE_COMPLETED',
      'dragoman.turn': 1,
      'dragoman.attempt': 1,
    })
  })

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'the tracestate is propagated over %s, to webhooks too',
    async (binding) => {
      using _recorder = new SpanRecorder()
      await using hook = await openHook()
      await using served = await serve(shout, { push: { allowHosts: ['127.0.0.1', 'localhost'] } })
      await using client = await connect(served.url, { binding })
      const configuration = { taskPushNotificationConfig: { url: hook.url } }
      await client.sendMessage({ ...send('go'), configuration }, { traceparent, tracestate })
      const [call] = await hook.received(1)
      expect(call?.headers.tracestate).toBe(tracestate)
    },
  )

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
    'a rejected call over %s has a span: a root without authentication, else part of the caller’s trace',
    async (binding) => {
      using recorder = new SpanRecorder()
      const limits = { rate: { perSecond: 0.001, burst: 1 } }
      await using served = await serve(shout, { auth: [apiKey({ k1: 'ann' })], limits })
      const refused = async (headers: Record<string, string>) => {
        recorder.spans.length = 0
        await using client = await connect(served.url, { binding, headers, retry: { attempts: 1 } })
        await expect(client.getTask({ id: 'x' }, { traceparent })).rejects.toThrow()
        await until(() => recorder.spans.length === 2 && recorder.spans.every(({ isEnded }) => isEnded))
        const [out, come] = recorder.spans
        expect(come).toMatchObject({ kind: 'SERVER', isFailed: false, attributes: { 'a2a.protocol.binding': binding } })
        return { isJoined: come?.parentId === out?.spanId, why: come?.attributes['error.type'] }
      }
      expect(await refused({ 'x-api-key': 'wrong' })).toEqual({ isJoined: false, why: 'UNAUTHENTICATED' })
      expect(await refused({ 'x-api-key': 'k1' })).toEqual({ isJoined: true, why: 'TASK_NOT_FOUND' })
      expect(await refused({ 'x-api-key': 'k1' })).toEqual({ isJoined: true, why: 'RATE_LIMITED' })
    },
  )

  it('an invalid call has a span too', async () => {
    using recorder = new SpanRecorder()
    await using served = await serve(shout)
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', traceparent }
    await fetch(`${served.url}message:send`, { method: 'POST', headers, body: '{"message":7}' })
    expect(recorder.named('SendMessage')).toMatchObject({
      isEnded: true,
      traceId,
      attributes: { 'error.type': 'INVALID_PARAMS' },
    })
  })

  it('the span of a step that asks ends with its turn', async () => {
    using recorder = new SpanRecorder()
    const asking = agent('Asking', async function* ({ number }) {
      if (number === 1) yield ask('which?')
      else yield 'done'
    })
    const plan = workflow('Plan', async (flow) => await flow.step('one', { agent: 'Asking', message: flow.text }))
    await using served = await serve([plan, asking])
    const client = await connect(served.agents[0]?.url ?? '')
    const answer = await client.sendMessage(send('go'))
    const { id: taskId = '', contextId = '' } = 'task' in answer ? answer.task : {}
    await client.sendMessage(send('that one', { taskId, contextId }))
    await until(() => recorder.spans.every(({ isEnded }) => isEnded))
    const steps = recorder.spans.filter(({ name }) => name === 'step one')
    expect(steps.map(({ isFailed, attributes }) => [isFailed, attributes['dragoman.step']])).toEqual([
      [false, 'one'],
      [false, 'one'],
    ])
  })

  it('a stream is a span until it ends', async () => {
    using recorder = new SpanRecorder()
    await using served = await serve(shout)
    await using client = await connect(served.url)
    for await (const _update of client.stream('hello')) expect(recorder.spans[0]?.isEnded).toBe(false)
    await until(() => recorder.spans.every(({ isEnded }) => isEnded))
    expect(recorder.paths()).toContain('client SendStreamingMessage > server SendStreamingMessage')
  })

  it('failures have the status ERROR: of the turn, and of a caller’s mistake on the caller’s side', async () => {
    using recorder = new SpanRecorder()
    const broken = agent('Broken', async function* () {
      yield failed('no')
    })
    await using served = await serve(broken)
    await using client = await connect(served.url)
    await client.sendMessage(send('go'))
    await expect(client.getTask({ id: 'none' })).rejects.toThrow()
    await until(() => recorder.spans.every(({ isEnded }) => isEnded))
    expect(recorder.named('invoke_agent Broken')).toMatchObject({
      isFailed: true,
      attributes: { 'a2a.task.state': 'TASK_STATE_FAILED' },
    })
    const asked = recorder.spans.filter(({ name }) => name === 'GetTask')
    expect(asked.map(({ kind, isFailed, attributes }) => [kind, isFailed, attributes['error.type']])).toEqual([
      ['CLIENT', true, 'TASK_NOT_FOUND'],
      ['SERVER', false, 'TASK_NOT_FOUND'],
    ])
  })

  it('the turn’s span is active while its handler runs', async () => {
    using recorder = new SpanRecorder()
    const thinking = agent('Thinking', async function* () {
      yield 'a'
      await new Promise((resolve) => setImmediate(resolve))
      trace.getTracer('author').startSpan('chat model').end()
      yield 'b'
    })
    await using served = await serve(thinking)
    await (await connect(served.url)).ask('go')
    expect(recorder.paths()).toContain(
      'client SendMessage > server SendMessage > internal invoke_agent Thinking > internal chat model',
    )
  })

  it('spans of called agents and of workflow steps are children of the caller’s span, in any process', async () => {
    using recorder = new SpanRecorder()
    await using elsewhere = await serve(shout)
    const boss = agent('Boss', async function* (turn) {
      yield (await turn.call('Helper', 'help')).text
    })
    const helper = agent('Helper', async function* () {
      yield 'helped'
    })
    const plan = workflow('Plan', async (flow) => await flow.step('loud', { agent: elsewhere.url, message: flow.text }))
    await using served = await serve([boss, helper, plan])
    const at = (name: string) => served.agents.find((each) => each.name === name)?.url ?? ''
    await (await connect(at('Boss'))).ask('go')
    expect(recorder.paths()).toContain(
      'client SendMessage > server SendMessage > internal invoke_agent Boss > internal invoke_agent Helper',
    )
    recorder.spans.length = 0
    await (await connect(at('Plan'))).ask('go')
    const paths = recorder.paths()
    const top = 'client SendMessage > server SendMessage > internal invoke_workflow Plan > internal step loud'
    expect(paths).toContain(
      `${top} > client SendStreamingMessage > server SendStreamingMessage > internal invoke_agent Shout`,
    )
  })

  it('a delivery carries the trace context of its call', async () => {
    using recorder = new SpanRecorder()
    await using hook = await openHook()
    await using served = await serve(shout, { push: { allowHosts: ['127.0.0.1', 'localhost'] } })
    await using client = await connect(served.url)
    const taskPushNotificationConfig = { url: hook.url }
    await client.sendMessage({ ...send('go'), configuration: { taskPushNotificationConfig } }, { traceparent })
    const [call] = await hook.received(1)
    const push = recorder.named('push')
    expect(recorder.paths()).toContain('client SendMessage > server SendMessage > client push')
    expect(call?.headers.traceparent).toBe(`00-${traceId}-${push.spanId}-01`)
  })

  it('a turn that another process runs again belongs to the same trace', async () => {
    using recorder = new SpanRecorder()
    const store = await openSqliteStore(':memory:')
    const stubborn = agent({ name: 'Stubborn', onCrash: { attempts: 2 } }, async function* ({ attempt, signal }) {
      if (attempt === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      yield 'done'
    })
    const first = await serve(stubborn, { store, advanced: { engine: { cancelGraceMs: 10 } } })
    const client = await connect(first.url)
    await client.sendMessage(send('go', {}, { returnImmediately: true }), { traceparent })
    await first.close({ deadlineMs: 0 })
    {
      await using _second = await serve(stubborn, { store })
      await until(() => recorder.spans.some(({ attributes }) => attributes['dragoman.attempt'] === 2))
    }
    const turns = recorder.spans.filter(({ name }) => name === 'invoke_agent Stubborn')
    expect(turns.map((span) => [span.traceId, span.attributes['dragoman.attempt']])).toEqual([
      [traceId, 1],
      [traceId, 2],
    ])
    await store.close()
  })
})
