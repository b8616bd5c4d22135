/** `dragoman push dead` and `redeliver`: dead letters of a store, with and without a running server. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { answerWith, type Hook, ok, openHook } from '../push/hook.js'
import { cli, json } from './cli-command.js'
import { type ServerProcess, startServer, type TemporaryFolder, temporaryFolder } from './server-process.js'

interface Listed {
  readonly deadLetters: readonly { readonly id: string; readonly taskId: string; readonly deliveryId: string }[]
}

let folder: TemporaryFolder
let hook: Hook
let server: ServerProcess
let store: readonly string[]

beforeAll(async () => {
  folder = await temporaryFolder()
  store = ['--store', `sqlite:${join(folder.path, 'tasks.sqlite')}`]
  hook = await openHook(answerWith(410))
  server = await startServer(['--echo', ...store, '--allow-webhook', 'localhost'])
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await hook[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

async function dead(...args: readonly string[]): Promise<Listed['deadLetters']> {
  const { code, stdout } = await cli(['push', 'dead', ...store, '-o', 'json', ...args])
  expect(code).toBe(0)
  return (json(stdout) as Listed).deadLetters
}

/** Creates a task whose deliveries are all dead letters. */
async function deadLetterTask(): Promise<string> {
  const sent = await cli(['send', server.url, 'ask', '-o', 'json'])
  const { id } = (json(sent.stdout) as { task: { id: string } }).task
  expect(await cli(['push', 'set', server.url, id, hook.url])).toMatchObject({ code: 0 })
  await cli(['send', server.url, 'second', '--task', id])
  await eventually(10_000, 'all deliveries to become dead letters', async () => (await dead('--task', id)).length >= 2)
  return id
}

describe('dragoman push dead', () => {
  it('lists and redelivers dead letters while the server runs', async () => {
    const task = await deadLetterTask()
    const [first, second] = await dead('--task', task)
    const text = await cli(['push', 'dead', ...store, '--agent', 'Echo'])
    expect(text.stdout).toMatch(/^ID +TIME +AGENT +TASK +WEBHOOK +ATTEMPTS +ERROR\n/)
    expect(text.stdout).toMatch(new RegExp(`^${first?.id} .* Echo +${task} .* 1 +The webhook answered 410$`, 'm'))
    expect(text.stdout).not.toContain(hook.url)
    expect(await dead('--limit', '1', '--task', task)).toEqual([first])
    expect((await dead('--after', first?.id ?? '', '--task', task))[0]).toEqual(second)
    expect(await dead('--agent', 'Nobody')).toEqual([])

    const still = await cli(['push', 'redeliver', first?.id ?? '', ...store, '--allow-webhook', 'localhost'])
    expect([still.code, still.stdout]).toEqual([1, `${first?.id} not delivered: The webhook answered 410\n`])
    hook.answer = ok
    const closed = await cli(['push', 'redeliver', first?.id ?? '', ...store])
    expect([closed.code, closed.stdout]).toEqual([1, expect.stringContaining('not delivered: ')])
    const before = hook.calls.length
    const one = await cli(['push', 'redeliver', first?.id ?? '', ...store, '--allow-webhook', 'localhost'])
    expect([one.code, one.stdout]).toEqual([0, `${first?.id} delivered\n`])
    expect(hook.calls.slice(before).map(({ headers }) => headers['x-a2a-delivery-id'])).toEqual([first?.deliveryId])
    expect((await dead('--task', task)).map(({ id }) => id)).not.toContain(first?.id)
    const again = await cli(['push', 'redeliver', first?.id ?? '', ...store])
    expect([again.code, again.stdout]).toEqual([1, `${first?.id} not delivered: dead letter not found\n`])
  })

  it('redelivers all dead letters once without a server', async () => {
    hook.answer = answerWith(410)
    const task = await deadLetterTask()
    await server.kill()
    const letters = await dead('--task', task)
    const all = [
      'push',
      'redeliver',
      '--all',
      ...store,
      '--allow-webhook',
      'localhost',
      '--agent',
      'Echo',
      '-o',
      'json',
    ]
    const refused = await cli([...all, '--task', task])
    expect([refused.code, json(refused.stdout)]).toEqual([
      1,
      { redeliveries: letters.map(({ id }) => ({ id, isDelivered: false, error: 'The webhook answered 410' })) },
    ])
    hook.answer = ok
    const delivered = await cli([...all, '--task', task])
    expect([delivered.code, json(delivered.stdout)]).toEqual([
      0,
      { redeliveries: letters.map(({ id }) => ({ id, isDelivered: true })) },
    ])
    expect((await cli(['push', 'dead', ...store, '--task', task])).stdout).toBe('No dead letters\n')
  })

  it.each([
    [['dead'], 'give --store'],
    [['dead', '--store', 'memory'], 'cannot read a memory store'],
    [['dead', '--store', 'mysql:x'], 'mysql:x'],
    [['redeliver', '--store', 'sqlite:x'], '--all'],
    [['redeliver', '7', '--all', '--store', 'sqlite:x'], '--all'],
    [['redeliver', '7', '--task', 't', '--store', 'sqlite:x'], '--task'],
    [['redeliver', '7', '--signing-key', 'k', '--store', 'sqlite:x'], '--public-url'],
  ])('%j is invalid usage', async (args, named) => {
    const { code, stdout, stderr } = await cli(['push', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(named)
  })

  it('does not create a missing store', async () => {
    const path = join(folder.path, 'typo.sqlite')
    const { code, stderr } = await cli(['push', 'dead', '--store', `sqlite:${path}`])
    expect([code, stderr]).toEqual([2, `dragoman: --store: file not found: ${path}\n`])
    expect(existsSync(path)).toBe(false)
  })
})
