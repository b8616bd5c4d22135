/** `dragoman push`: registering webhooks, and receiving deliveries of every version. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { within } from '../hostile/waiting.js'
import { cli, InteractiveCommand, json, jsonLines } from './cli-command.js'
import { type ServerProcess, startServer } from './server-process.js'

let server: ServerProcess
let ref: string
let task: string

beforeAll(async () => {
  server = await startServer(['--echo', '--allow-webhook', 'localhost'])
  ref = new URL(server.url).host
  const { stdout } = await cli(['send', ref, 'ask', '-o', 'json'])
  task = (json(stdout) as { task: { id: string } }).task.id
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('dragoman push', () => {
  it('sets, gets, lists and deletes, and shows no secret', async () => {
    const url = 'https://hooks.example/a'
    const secrets = ['--token', 't0ken', '--auth-scheme', 'Bearer', '--auth-credentials', 'hush']
    const set = await cli(['push', 'set', ref, task, url, '--id', 'mine', ...secrets])
    expect(set).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Webhook +https:\/\/hooks\.example\/a\nId +mine\n/),
    })
    const get = await cli(['push', 'get', ref, task, 'mine', '-o', 'json'])
    expect(json(get.stdout)).toMatchObject({ id: 'mine', taskId: task, url })
    const list = await cli(['push', 'list', ref, task])
    expect(list).toMatchObject({ code: 0, stdout: `mine  ${url}\n` })
    expect(set.stdout + get.stdout + list.stdout).not.toMatch(/t0ken|hush/)
    expect(await cli(['push', 'delete', ref, task, 'mine'])).toMatchObject({ code: 0, stdout: 'Deleted mine\n' })
    expect(await cli(['push', 'list', ref, task])).toMatchObject({ code: 0, stdout: 'No webhooks\n' })
  })

  it('names the option that allows a rejected webhook', async () => {
    const { code, stderr } = await cli(['push', 'set', ref, task, 'http://10.0.0.1/'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^dragoman: url: 10\.0\.0\.1 [^\n]+\n[^\n]+ --allow-webhook HOST allows other hosts\n$/)
  })

  it.each([
    [['push', 'set', 'localhost:1', 'task']],
    [['push', 'set', 'localhost:1', 'task', 'ftp://x']],
    [['push', 'get', 'localhost:1']],
    [['push', 'delete', 'localhost:1', 'task']],
  ])('rejects %j', async (args) => {
    expect(await cli(args)).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('dragoman serve --allow-webhook', () => {
  it('allows a webhook on the local host, and no other private address', async () => {
    await using run = new InteractiveCommand(['push', 'listen', '--token', 't0ken', '--count', '2', '-o', 'json'])
    const [, url = ''] = await run.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+\/)/)
    expect(await cli(['push', 'set', ref, task, url, '--token', 't0ken'])).toMatchObject({ code: 0 })
    expect(await cli(['push', 'set', ref, task, 'http://10.0.0.1/'])).toMatchObject({ code: 1 })
    await cli(['send', ref, 'second', '--task', task])
    const { stdout } = await within(10_000, 'two deliveries', run.exit)
    expect(jsonLines(stdout).slice(1)).toMatchObject([
      { dialect: 'v1', taskId: task, event: { statusUpdate: {} } },
      { taskId: task, event: { artifactUpdate: { artifact: { parts: [{ text: 'ask\nsecond' }] } } } },
    ])
  })
})

describe('dragoman push listen', () => {
  async function listening(...options: string[]) {
    const run = new InteractiveCommand(['push', 'listen', ...options])
    const [, url = ''] = await run.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+\/)/)
    const post = async (body: unknown, headers: Record<string, string> = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return (await fetch(url, { method: 'POST', body: text, headers })).status
    }
    return { run, url, post, [Symbol.asyncDispose]: () => run[Symbol.asyncDispose]() }
  }

  it('reports a port in use', async () => {
    await using hook = await listening()
    const { port } = new URL(hook.url)
    const { code, stderr } = await cli(['push', 'listen', '--port', port])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `dragoman: Port ${port} is in use; choose another one with --port\n`,
    })
  })

  it(proves('RM-PUSH-3', 'recognises the bodies of every version'), async () => {
    await using hook = await listening('--count', '6', '-o', 'json')
    const bodies = [
      { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } },
      { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } },
      { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } },
      {
        kind: 'artifact-update',
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'hi' }] },
      },
      { id: 't', taskId: 't', sessionId: 'c', status: { state: 'completed' } },
      { id: 't', status: { state: 'completed' } },
    ]
    for (const body of bodies) expect(await hook.post(body)).toBe(200)
    const { code, stdout, stderr } = await within(5000, 'the receiver to end', hook.run.exit)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [, ...deliveries] = jsonLines(stdout)
    const completed = { id: 't', status: { state: 'TASK_STATE_COMPLETED' } }
    expect(deliveries).toMatchObject([
      { dialect: 'v1', taskId: 't', event: { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } } },
      { dialect: 'v1', taskId: 't', event: { task: completed } },
      { dialect: 'v0.3', taskId: 't', event: { task: completed } },
      { dialect: 'v0.3', taskId: 't', event: { artifactUpdate: { artifact: { parts: [{ text: 'hi' }] } } } },
      { dialect: 'v0.1', taskId: 't', event: { task: completed } },
      { dialect: 'task-rest', taskId: 't', event: { task: completed } },
    ])
  })

  it('rejects deliveries without the token, and other requests', async () => {
    await using hook = await listening('--token', 'right', '--count', '1')
    const body = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } }
    const right = { 'x-a2a-notification-token': 'right' }
    expect(await hook.post(body)).toBe(401)
    expect(await hook.post(body, { 'x-a2a-notification-token': 'wrong' })).toBe(401)
    expect(await hook.post('no JSON', right)).toBe(400)
    expect(await hook.post({ hello: 'world' }, right)).toBe(400)
    expect(await hook.post(body, right)).toBe(200)
    const { code, stdout, stderr } = await within(5000, 'the receiver to end', hook.run.exit)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Listening at http:\S+\ntask {2}t {2}completed {2}\(v0\.3\)\n$/)
    expect(stderr.match(/warning: Rejected a delivery: /g)).toHaveLength(4)
    expect(stderr).toContain('The delivery carries no X-A2A-Notification-Token')
  })

  it('answers the ownership challenge of an agent', async () => {
    await using hook = await listening()
    expect(await (await fetch(`${hook.url}?validationToken=echo-me`)).text()).toBe('echo-me')
    hook.run.signal('SIGTERM')
    expect(await within(5000, 'the receiver to end', hook.run.exit)).toMatchObject({ code: 0 })
  })
})
