/** Servers that are killed: the example between its question and the answer, and a graph between two nodes. */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { connect } from 'dragoman'
import { expect, it } from 'vitest'
import { copyExample, startExample } from '../script/start-example.js'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

it('examples/integrations/langgraph.ts asks, is killed, and continues with the answer in another process', async () => {
  // Node 20 runs no TypeScript, and the example has no types.
  const example = copyExample('langgraph.ts', at('.'), '.examples/langgraph.mjs')
  const start = () => startExample(process.execPath, [example], at('.examples'))
  let taskId = ''
  {
    await using first = await start()
    await using client = await connect(first.url)
    const question = await client.ask('A suit')
    expect(question).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Which size?' })
    taskId = question.task?.id ?? ''
  } // leaving the block kills the process
  {
    await using second = await start()
    await using client = await connect(second.url)
    const answer = await client.ask('48', { taskId })
    expect(answer).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'A suit in 48' })
  }
})

/** Copies a script of this folder to an empty folder, in which it stores its files. */
function copyScript(name: string): string {
  const copy = at(`.examples/${name}`)
  rmSync(at('.examples'), { recursive: true, force: true })
  mkdirSync(at('.examples'))
  copyFileSync(at(name), copy)
  return copy
}

it('continues a graph whose process was killed, without running finished nodes again', async () => {
  const script = copyScript('killed.mjs')
  const start = () => startExample(process.execPath, [script], at('.examples'))
  const contextId = 'killed'
  {
    await using first = await start()
    await using client = await connect(first.url, { retry: { attempts: 1 } })
    await expect(client.ask('Go', { contextId })).rejects.toThrow()
  }
  await using second = await start()
  await using client = await connect(second.url)
  const { tasks } = await client.listTasks({ contextId })
  const task = await client.task(tasks[0]?.id ?? '').wait()
  expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  expect(task.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'one' }], [{ text: 'two' }]])
  expect(readFileSync(at('.examples/runs.txt'), 'utf8')).toBe('one\ntwo\ntwo\n')
})
