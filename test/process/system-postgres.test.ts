/** `npm start -- --store postgres://…`: the registry, the workflow and every agent on one database, killed and started again. */
import { graphOf } from 'dragoman/orchestrator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Task } from '../../src/index.js'
import { eventually } from '../hostile/waiting.js'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import { post } from './agent-process.js'
import { call, newMessage, result } from './calls.js'
import { type TemporaryFolder, temporaryFolder } from './server-process.js'
import { startSystem } from './system-process.js'

let postgres: PostgresServer
let folder: TemporaryFolder
beforeAll(async () => {
  postgres = await startPostgres()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await folder[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

describe('the system on Postgres', { timeout: 180_000 }, () => {
  it('restores its state after a kill, and finishes the running workflow', async () => {
    const args = ['--ports', 'auto', '--store', await freshDatabase(postgres)]
    const first = await startSystem(folder.path, args, { DRAGOMAN_PACE_MS: '40' })
    const documents = `${first.urlOf('DocumentWorkflow')}/api/documents`
    const { body: made } = await post(documents, { topic: '茉莉花茶' })
    expect(made).toMatchObject({ state: 'completed', document: expect.stringMatching(/^# 茉莉花茶/) })

    const { result: begun } = await call(`${first.urlOf('DocumentWorkflow')}/`, 'SendMessage', {
      message: newMessage('Solar power'),
      configuration: { returnImmediately: true },
    })
    const { id } = (begun as { readonly task: Task }).task
    await eventually(20_000, 'the first step to be done', async () => {
      const task = await result<Task>(`${first.urlOf('DocumentWorkflow')}/`, 'GetTask', { id })
      return graphOf(task)?.nodes[0]?.state === 'completed'
    })
    first.signal('SIGKILL')
    await first.ended

    await using again = await startSystem(folder.path, args)
    const url = again.urlOf('DocumentWorkflow')
    const { taskId } = made as { readonly taskId: string }
    expect(await (await fetch(`${url}/api/documents/${taskId}`)).json()).toEqual(made)
    const ended = await eventually(60_000, 'the end of the run', async () => {
      const task = await result<Task>(`${url}/`, 'GetTask', { id })
      return /COMPLETED|FAILED|CANCELED|REJECTED/.test(task.status.state) && task
    })
    expect(graphOf(ended)?.nodes.map((node) => `${node.id} ${node.state}`)).toEqual([
      'outline completed',
      'document completed',
      'summary completed',
    ])
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    const found = await fetch(`${again.urlOf('Registry')}/v1/agents/public/DocAgent`)
    expect(await found.json()).toMatchObject({ name: 'DocAgent' })
  })
})
