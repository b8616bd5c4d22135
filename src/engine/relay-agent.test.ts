import { describe, expect, it } from 'vitest'
import { echoAgent } from '../testing/echo-agent.js'
import { callBy, send, until } from '../testing/index.js'
import { agent } from './agent.js'
import { collect, outline, storeKinds, taskIn, testEngine, textIn } from './engine.fixture.js'
import { relayAgent } from './relay-agent.js'
import { artifact } from './yields.js'

describe.each(storeKinds)('a relay on %s', (kind) => {
  const both = async () => {
    const upstream = await testEngine(echoAgent, kind)
    const relay = await testEngine(relayAgent({ name: 'Bridge' }, upstream), kind)
    return {
      upstream,
      relay,
      async [Symbol.asyncDispose]() {
        await relay[Symbol.asyncDispose]()
        await upstream[Symbol.asyncDispose]()
      },
    }
  }
  const textOfTask = (task: { readonly artifacts?: readonly { readonly parts: readonly object[] }[] }) =>
    (task.artifacts ?? []).map(({ parts }) => textIn(parts)).join('|')

  it('yields the output of the remote agent, chunk by chunk', async () => {
    await using pair = await both()
    expect(outline(await collect(pair.relay.sendStreamingMessage(send('chunks 3'), callBy())))).toEqual([
      'task:SUBMITTED',
      'status:WORKING',
      'artifact:chunk 1 ',
      'artifact:chunk 2 ',
      'artifact:chunk 3 ',
      'status:COMPLETED',
    ])
    expect(textOfTask(taskIn(await pair.relay.sendMessage(send('hello'), callBy())))).toBe('hello')
  })

  it('passes on direct messages, failures and rejections', async () => {
    await using pair = await both()
    expect(await pair.relay.sendMessage(send('msg word'), callBy())).toMatchObject({
      message: { parts: [{ text: 'word' }] },
    })
    const states = await Promise.all(
      ['fail', 'reject'].map(async (word) => taskIn(await pair.relay.sendMessage(send(word), callBy())).status),
    )
    expect(states.map(({ state, message }) => [state, textIn(message?.parts ?? [])])).toEqual([
      ['TASK_STATE_FAILED', 'Failed as asked'],
      ['TASK_STATE_REJECTED', 'Rejected as asked'],
    ])
  })

  it('passes on a question, and its answer to the remote task that asked', async () => {
    await using pair = await both()
    const asked = taskIn(await pair.relay.sendMessage(send('ask'), callBy()))
    expect(asked.status).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED' })
    const answered = taskIn(await pair.relay.sendMessage(send('second', { taskId: asked.id }), callBy()))
    expect([answered.status.state, textOfTask(answered)]).toEqual(['TASK_STATE_COMPLETED', 'ask\nsecond'])
    const { tasks } = await pair.upstream.listTasks({}, callBy('anonymous'))
    expect(tasks.map(({ status }) => status.state)).toEqual(['TASK_STATE_COMPLETED'])
  })

  it('leaves the check of media types to the remote agent, and keeps the names of artifacts', async () => {
    const plain = agent('Plain', async function* ({ message }) {
      yield artifact('', message.parts, { id: 'unnamed' })
      yield artifact('named', 'x', { id: 'other' })
    })
    await using upstream = await testEngine(plain, kind)
    const card = { name: 'Bridge', defaultInputModes: ['text/plain'] }
    await using relay = await testEngine(relayAgent(card, upstream), kind)
    const csv = { text: 'a;b', mediaType: 'text/csv' }
    const task = taskIn(await relay.sendMessage(send('', { parts: [csv] }), callBy()))
    expect(task.artifacts).toEqual([
      { artifactId: 'unnamed', parts: [csv] },
      { artifactId: 'other', name: 'named', parts: [{ text: 'x' }] },
    ])
    await using strict = await testEngine({ ...plain, card }, kind)
    const refused = { code: 'CONTENT_TYPE_NOT_SUPPORTED' }
    await expect(strict.sendMessage(send('', { parts: [csv] }), callBy())).rejects.toMatchObject(refused)
    await using behind = await testEngine(relayAgent(card, strict), kind)
    await expect(behind.sendMessage(send('', { parts: [csv] }), callBy())).rejects.toMatchObject(refused)
  })

  it('cancels the remote task when its own task is cancelled', async () => {
    await using pair = await both()
    const request = send('sleep 60000', {}, { returnImmediately: true })
    const { id } = taskIn(await pair.relay.sendMessage(request, callBy()))
    const upstream = await until(async () => (await pair.upstream.listTasks({}, callBy('anonymous'))).tasks[0])
    expect((await pair.relay.cancelTask({ id }, callBy())).status.state).toBe('TASK_STATE_CANCELED')
    await until(async () => {
      const { status } = await pair.upstream.getTask({ id: upstream.id }, callBy('anonymous'))
      return status.state === 'TASK_STATE_CANCELED'
    })
  })
})
