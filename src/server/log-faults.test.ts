import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { agent } from '../engine/agent.js'
import { createHandler, type HandlerOptions } from './handler.js'

let printed: string[]

beforeEach(() => {
  printed = []
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => void printed.push(String(line)))
})

afterEach(() => {
  vi.restoreAllMocks()
})

const faulty = agent('Faulty', async function* ({ text }) {
  if (text === 'well') return yield 'well'
  throw new TypeError(`no ${text}\n\u001b[2Jhere`)
})

async function ask(text: string, options: HandlerOptions = {}): Promise<string> {
  const handler = await createHandler(faulty, options)
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] }
  const body = JSON.stringify({ message })
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  const request = new Request('http://localhost/message:send', { method: 'POST', headers, body })
  const answer = await (await handler.fetch(request)).text()
  await handler.close({ deadlineMs: 0 })
  return answer
}

describe('an agent without a log', () => {
  it('shows its author what it threw and where, in one line, and its caller neither', async () => {
    const answer = await ask('size')
    expect(answer).not.toContain('size here')
    const { task } = JSON.parse(answer) as { task: { id: string; status: { state: string } } }
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(printed).toEqual([
      expect.stringMatching(
        new RegExp(
          `^dragoman: The agent threw \\(Faulty, task ${task.id}\\): TypeError: no size \\[2Jhere at .*log-faults\\.test\\.ts:\\d+:\\d+\\)?$`,
        ),
      ),
    ])
  })

  it('prints nothing else', async () => {
    await ask('well', { logCalls: true })
    expect(printed).toEqual([])
  })

  it('prints nothing when there is one', async () => {
    const entries: string[] = []
    await ask('size', { log: ({ message }) => void entries.push(message) })
    expect(entries).toEqual(['The agent threw'])
    expect(printed).toEqual([])
  })
})
