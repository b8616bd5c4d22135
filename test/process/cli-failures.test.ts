/** Failures of commands: one sentence and a hint on stderr, JSON for programs, and the documented exit codes. */
import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../src/testing/index.js'
import { cli, json } from './cli-command.js'
import { scriptedServer } from './hostile-agent.js'
import { type ServerProcess, startServer } from './server-process.js'

let server: ServerProcess
let ref: string
let closedServer: ServerProcess

beforeAll(async () => {
  ;[server, closedServer] = await Promise.all([startServer(), startServer(['--echo', '--api-key', 'open sesame'])])
  ref = new URL(server.url).host
})

afterAll(async () => {
  await Promise.all([server[Symbol.asyncDispose](), closedServer[Symbol.asyncDispose]()])
})

async function failure(args: readonly string[]) {
  const { code, stdout, stderr } = await cli([...args, '-o', 'json'])
  return { code, stdout, ...(json(stderr) as { error: Record<string, string> }) }
}

describe('exit codes', () => {
  it('1 for an error of the agent, with its own code in JSON', async () => {
    expect(await failure(['task', 'get', ref, 'nobody'])).toEqual({
      code: 1,
      stdout: '',
      error: {
        code: 'task-not-found',
        message: 'Task not found: nobody',
        hint: 'The task does not exist, or belongs to another caller',
        a2aCode: 'TASK_NOT_FOUND',
      },
    })
  })

  it('2 for invalid arguments, also in JSON', async () => {
    expect(await failure(['send', ref, '--bogus'])).toEqual({
      code: 2,
      stdout: '',
      error: { code: 'usage', message: "unknown option '--bogus'" },
    })
    expect(await failure(['task', 'get', ref])).toMatchObject({
      code: 2,
      error: { message: 'missing argument: the id of a task' },
    })
    expect(await failure(['send'])).toMatchObject({ code: 2, error: { code: 'usage' } })
    for (const nothing of [[''], ['  '], ['--text', '']])
      expect(await failure(['send', ref, ...nothing])).toMatchObject({
        code: 2,
        error: { message: expect.stringContaining('the message is empty') },
      })
  })

  it.each([
    ['a store', ['serve', '--echo', '--port', '0', '--store', 'postgre://ann:hunter2@db.example/tasks']],
    ['a store with dead letters', ['push', 'dead', '--store', 'postgre://ann:hunter2@db.example/tasks']],
    ['a registry', ['registry', 'list', '--registry', 'http://ann:hunter2@127.0.0.1:1']],
    ['an agent', ['card', 'get', 'http://ann:hunter2@127.0.0.1:1']],
  ])('never show the password in the URL of %s', async (_what, args) => {
    for (const format of [[], ['-o', 'json']]) {
      const { code, stdout, stderr } = await cli([...args, ...format])
      expect(code).not.toBe(0)
      expect(stderr).not.toBe('')
      expect(stdout + stderr).not.toContain('hunter2')
    }
  })

  it('name the store that cannot be reached, without its password', async () => {
    const { code, stderr } = await cli(['serve', '--echo', '--store', 'postgres://ann:hunter2@localhost:1/x'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/The store at postgres:\/\/localhost:1 cannot be reached: .*ECONNREFUSED/)
    expect(stderr).not.toContain('hunter2')
  })

  it.each([
    [['bogus'], '(dragoman --help lists the commands)'],
    [['task', 'bogus'], '(dragoman task --help lists the commands)'],
    [['send', 'localhost', '--bogus'], '(dragoman send --help lists the options)'],
    [['task', 'get', '--bogus'], '(dragoman task get --help lists the options)'],
  ])('point to the help of the command for %j', async (args, footer) => {
    expect((await cli(args)).stderr.split('\n')).toContain(footer)
  })

  it.each([['bogus'], ['card'], ['task', 'bogus'], ['completion', 'tcsh']])('2 for dragoman %s %s', async (...args) => {
    const { code, stdout, stderr } = await cli(args.filter((word) => word !== undefined))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).not.toBe('')
  })

  it('3 for a broken stream, with the command that continues it', async () => {
    await using dying = await startServer()
    const host = new URL(dying.url).host
    const streaming = cli(['send', host, 'chunks 100 200', '--stream'])
    let id = ''
    await until(async () => {
      const { tasks } = json((await cli(['task', 'list', host, '-o', 'json'])).stdout) as { tasks: { id: string }[] }
      id = tasks[0]?.id ?? ''
      return id !== ''
    })
    await dying.kill()
    const { code, stderr } = await streaming
    expect(code).toBe(3)
    expect(stderr).toContain(`The task may still be running: dragoman task subscribe ${host} ${id}\n`)
  })

  it('3 if the connection is refused', async () => {
    const port = await freePort()
    const { code, stdout, stderr } = await cli(['send', `localhost:${port}`, 'hello'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(
      /^dragoman: [^\n]*cannot be reached[^\n]*\nCheck that the agent is running and the address is correct\n$/,
    )
    expect(await failure(['card', 'get', `localhost:${port}`])).toMatchObject({
      code: 3,
      error: { code: 'unreachable' },
    })
  })

  it('3 for an unknown name, with the options that resolve names', async () => {
    const { code, stdout, stderr } = await cli(['send', 'nosuch.invalid', 'hello'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toBe(
      'dragoman: nosuch.invalid is not a known host, and no registry was given\n' +
        'Pass --registry URL or set DRAGOMAN_REGISTRY to use names of agents; the registry of `npm start` is http://localhost:8020\n',
    )
    expect(await failure(['doctor', ref, '--registry', 'nowhere'])).toMatchObject({
      code: 2,
      error: { message: '--registry: invalid URL: nowhere' },
    })
  })

  it('1 for a port in use, naming the option that chooses another one', async () => {
    for (const command of [['serve', '--echo'], ['registry', 'serve'], ['console']]) {
      const { code, stderr } = await cli([...command, '--port', new URL(server.url).port])
      expect([code, stderr], command.join(' ')).toEqual([
        1,
        expect.stringMatching(/is in use; choose another one with --port$/m),
      ])
    }
  })

  it('4 without valid credentials', async () => {
    const place = new URL(closedServer.url).host
    const hint = `The agent requires apiKey (API key in header X-API-Key); pass it with \`dragoman auth login ${place} --api-key KEY\` or --header 'X-API-Key: KEY'`
    for (const wrong of [[], ['-H', 'X-API-Key: guessed']])
      expect(await failure(['send', place, 'hello', ...wrong])).toMatchObject({
        code: 4,
        error: { code: 'unauthenticated', a2aCode: 'UNAUTHENTICATED', hint },
      })
    expect(await cli(['send', place, 'hello', '-H', 'X-API-Key: open sesame'])).toMatchObject({ code: 0 })
  })

  it.each([[[]], [['--stream']]])('5 after a time-out: send %j', async (options) => {
    const { code, error } = await failure(['send', ref, 'sleep 60000', '--timeout', '1', ...options])
    expect({ code, is: error.code }).toEqual({ code: 5, is: 'timeout' })
  })

  it('2 for a header without a colon, whose value is not repeated', async () => {
    const { code, stdout, stderr } = await cli(['send', 'localhost:1', 'hi', '-H', 'X-API-Key sesame'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('write headers as "Name: value"')
    expect(stderr).not.toContain('sesame')
  })

  it('4 with credentials that are not sent to another origin, naming the option that sends them', async () => {
    await using guarded = await startServer(['--echo', '--api-key', 'sesame'])
    const { origin } = new URL(guarded.url)
    // The card is at one port, the agent at another one.
    const card = await (await fetch(new URL('/.well-known/agent-card.json', guarded.url))).text()
    await using elsewhere = await scriptedServer((_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(card)
    })
    const send = (...more: string[]) => cli(['send', elsewhere.url, 'ask', '--header', 'X-API-Key: sesame', ...more])
    const { code, stderr } = await send()
    expect(code).toBe(4)
    const advice = `Headers and credentials are not sent to ${origin}; to allow it, pass --allow-origin ${origin}\n`
    expect(stderr.split(advice)).toHaveLength(3)
    const asked = await send('--allow-origin', origin)
    expect(asked).toMatchObject({ code: 0, stdout: 'What is the second text?\n' })
    // Later commands need the same options. The secret is not repeated.
    expect(asked.stderr).toMatch(/dragoman send \S+ --header 'X-API-Key: …' --allow-origin http:\S+ --task \S+ "…"\n$/)
    expect(stderr + asked.stderr).not.toContain('sesame')
  })

  it('5 after a time-out while waiting for a task', async () => {
    const { stdout } = await cli(['send', ref, '--async', 'sleep 60000', '-o', 'json'])
    const { task } = json(stdout) as { task: { id: string } }
    expect(await failure(['task', 'get', ref, task.id, '--wait', '--timeout', '1'])).toMatchObject({ code: 5 })
    expect(await cli(['task', 'subscribe', ref, task.id, '--timeout', '1'])).toMatchObject({ code: 5 })
  })
})

describe('--debug', () => {
  it('prints requests and responses to stderr, without the secrets of any header', async () => {
    const secrets = ['X-API-Key: open sesame', 'X-Odd: hush-hush-1']
    const { code, stdout, stderr } = await cli([
      'send',
      new URL(closedServer.url).host,
      'hello',
      '--debug',
      ...secrets.flatMap((header) => ['-H', header]),
    ])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello\n' })
    expect(stderr).toMatch(/→ card GET http:\S+\/\.well-known\/agent-card\.json/)
    expect(stderr).toMatch(/→ JSONRPC POST http:/)
    expect(stderr).toMatch(/← JSONRPC POST http:\S+ 200/)
    expect(stderr).toContain('"method":"SendMessage"')
    expect(stderr).not.toMatch(/sesame|hush/)
  })

  it('shows gRPC as well', async () => {
    const { code, stderr } = await cli(['send', ref, 'hello', '--binding', 'grpc', '--debug'])
    expect(code).toBe(0)
    expect(stderr).toMatch(/→ GRPC \S*SendMessage/)
  })
})

async function freePort(): Promise<number> {
  const taken: Server = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const address = taken.address()
  await new Promise((resolve) => taken.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('No port')
  return address.port
}
