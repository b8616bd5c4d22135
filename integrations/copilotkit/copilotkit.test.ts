/** The runtime of CopilotKit in front of an agent: a turn with an interrupt, and the run that resumes it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'
import { agent, artifact, ask, data, serve, step, steps } from 'dragoman'
import { agUiEndpoint } from 'dragoman/ag-ui'
import { expect, it } from 'vitest'

const schema = { type: 'object', required: ['colour'], properties: { colour: { type: 'string' } } }

const tailor = agent({ name: 'Tailor', extensions: [steps] }, async function* (turn) {
  if (turn.number === 1) {
    yield 'Looking at cloth. '
    yield step({ kind: 'tool-call', id: 'call-1', name: 'measure', input: { who: 'Ada' } })
    yield step({ kind: 'tool-result', id: 'call-1', output: 170 })
    yield ask('Which colour?', { schema })
  }
  yield artifact('state', data({ isSewn: true }), { id: 'state' })
  yield `A ${(turn.data() as { colour: string }).colour} suit`
})

async function start() {
  const served = await serve(tailor, { port: 0, log: false, endpoints: [agUiEndpoint()] })
  const agents = { tailor: new HttpAgent({ url: new URL('/ag-ui', served.url).href }) }
  const server = createServer(createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }) }))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/agent/tailor/run`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
      await served.close({ deadlineMs: 0 })
    },
  }
}

it('runs a turn with an interrupt and resumes it', async () => {
  await using runtime = await start()
  const client = new HttpAgent({ url: runtime.url, threadId: crypto.randomUUID() })
  const events: string[] = []
  client.subscribe({ onEvent: ({ event }) => void events.push(event.type) })
  client.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'I need a suit' })
  await client.runAgent()
  const [interrupt] = client.pendingInterrupts
  expect(interrupt).toMatchObject({ reason: 'input_required', message: 'Which colour?', responseSchema: schema })
  expect(events.at(0)).toBe('RUN_STARTED')
  expect(events).toContain('TOOL_CALL_RESULT')
  expect(events.at(-1)).toBe('RUN_FINISHED')
  const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { colour: 'blue' } }]
  await client.runAgent({ resume })
  expect(client.pendingInterrupts).toEqual([])
  expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'A blue suit' })
  expect(client.state).toEqual({ isSewn: true })
})
