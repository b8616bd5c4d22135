/** The example of the OpenAI Agents SDK, killed between its question and the answer. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connect, data } from '../../src/index.js'
import { startAgent } from './agent-process.js'
import { temporaryFolder } from './server-process.js'

describe('an agent of the OpenAI Agents SDK that is killed between its question and the answer', () => {
  it.each([
    ['approved', { approved: true }, '3\n'],
    ['rejected', { approved: false, reason: 'Too expensive' }, ''],
  ])('continues in another process: a tool call that is %s', async (_what, answer, paid) => {
    await using folder = await temporaryFolder()
    const start = () => startAgent('openai-agents', { folder: 'integrations', cwd: folder.path, env: { PORT: '0' } })
    let taskId = ''
    {
      await using first = await start()
      await using client = await connect(first.url)
      const question = await client.ask('Pay 3')
      expect(question).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Approve pay {"amount":3}?' })
      taskId = question.task?.id ?? ''
    } // leaving the block kills the process
    await using second = await start()
    await using client = await connect(second.url)
    expect((await client.ask([data(answer)], { taskId })).state).toBe('TASK_STATE_COMPLETED')
    const payments = join(folder.path, 'payments.txt')
    expect(existsSync(payments) ? readFileSync(payments, 'utf8') : '').toBe(paid)
  })
})
