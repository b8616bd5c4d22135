/** `dragoman serve`: invalid arguments, modules, access and shutdown. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { readRest, readRpc } from '../hostile/answers.js'
import { openStream } from '../hostile/stream-client.js'
import { eventually, within } from '../hostile/waiting.js'
import { getTask, newMessage, result, sendTask, type TaskView, textsOf } from './calls.js'
import { freePort } from './hostile-agent.js'
import { builtLibrary, type Exit, runCommand, startServer, temporaryFolder } from './server-process.js'

describe('dragoman', () => {
  it.each([[['--help']], [['serve', '--help']], [['help', 'serve']]])('%j prints help and exits 0', async (args) => {
    const { code, stdout, stderr } = await runCommand(args)
    assert.equal(code, 0)
    assert.match(stdout, /Usage: dragoman/)
    assert.equal(stderr, '')
  })

  it('--version prints a version and exits 0', async () => {
    const { code, stdout } = await runCommand(['--version'])
    assert.equal(code, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })

  it.each([
    [['bogus']],
    [['serve', '--bogus']],
    [['serve', '--echo', '--port', 'http']],
    [['serve', '--echo', '--port', '65536']],
    [['serve', '--echo', '--port', '-1']],
    [['serve', '--echo', '--store']],
  ])('%j is invalid usage: exit 2, and nothing on stdout', async (args) => {
    const { code, stdout, stderr } = await runCommand(args)
    assert.equal(code, 2, stderr)
    assert.equal(stdout, '')
    assert.notEqual(stderr, '')
    assertNoStack(stderr)
  })
})

describe('dragoman serve rejects with one sentence', () => {
  it.each<[string, readonly string[], string]>([
    ['neither a module nor --echo', [], 'module'],
    ['both a module and --echo', ['./x.js', '--echo'], 'module'],
    ['a missing module', ['./no-such-module.js'], 'no-such-module.js'],
    ['an unknown store', ['--echo', '--store', 'mysql:x'], 'mysql:x'],
    ['a public address without authentication', ['--echo', '--host', '0.0.0.0'], '0.0.0.0'],
    ['an invalid webhook host', ['--echo', '--allow-webhook', 'http://x'], 'http://x'],
    ['all addresses without authentication', ['--echo', '--host', '::'], '::'],
  ])('%s', async (_, args, named) => {
    assertRefused(await runCommand(['serve', ...args, '--port', '0']), named)
  })

  it.each<[string, string]>([
    ['exports the agent that it serves', 'export default shout'],
    ['exports no agent', ''],
  ])('a module that calls serve() itself and %s', async (_, more) => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    const source = `import { agent, serve } from '${builtLibrary}'
const shout = agent('Shout', async function* () { yield 'x' })
serve(shout, { port: ${port} })
${more}`
    await writeFile(join(folder.path, 'module.mjs'), source)
    const exit = await runCommand(['serve', './module.mjs', '--port', '0'], { cwd: folder.path })
    assertRefused(exit, `calls serve() itself, on port ${port}: run it with \`node ./module.mjs\``)
  })

  it('a module that calls serve() itself without an agent', async () => {
    await using folder = await temporaryFolder()
    const source = `import { serve } from '${builtLibrary}'\nserve(undefined).catch(() => undefined)`
    await writeFile(join(folder.path, 'module.mjs'), source)
    const exit = await runCommand(['serve', './module.mjs', '--port', '0'], { cwd: folder.path })
    assertRefused(exit, 'calls serve() itself, on another port')
  })

  it.each<[string, string]>([
    ['exports nothing', ''],
    ['exports something else', 'export default 42'],
    ['exports a function', 'export default () => {}'],
    ['exports an empty list', 'export default []'],
  ])('a module that %s', async (_, source) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'module.mjs'), source)
    assertRefused(await runCommand(['serve', './module.mjs', '--port', '0'], { cwd: folder.path }), 'module.mjs')
  })

  it.each<[string, string]>([
    ['throws', 'throw new Error("the module is broken")'],
    ['is not JavaScript', 'export default {{{'],
    ['imports a missing module', 'import "./missing-neighbour.mjs"'],
  ])('a module that %s, with exit 1 because the arguments are valid', async (_, source) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'module.mjs'), source)
    const { code, stdout, stderr } = await runCommand(['serve', './module.mjs', '--port', '0'], { cwd: folder.path })
    assert.equal(code, 1, stderr)
    assert.equal(stdout, '')
    assertNoStack(stderr)
  })

  it('a TypeScript module, where Node does not strip types', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'module.ts'), 'export default 42 as number')
    await writeFile(join(folder.path, 'importer.mjs'), "export { default } from './module.ts'")
    const stripsTypes = 'typescript' in process.features && process.features.typescript !== false
    const fix = 'use Node 22.18 or newer, or compile the module and serve the .js file'
    for (const name of ['module.ts', 'importer.mjs']) {
      const exit = await runCommand(['serve', `./${name}`, '--port', '0'], { cwd: folder.path })
      assertRefused(exit, stripsTypes ? `${name} exports no agent` : `/module.ts; ${fix}`)
    }
  })

  it('a port in use, with exit 1', async () => {
    await using taken = await occupyPort()
    const { code, stdout, stderr } = await runCommand(['serve', '--echo', '--port', String(taken.port)])
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assertOneLine(stderr)
    assert.ok(stderr.includes(String(taken.port)))
  })

  it('a store file that is not a database, with exit 1', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'not-a-database.sqlite')
    await writeFile(file, 'a text that is longer than the header of a database file '.repeat(20))
    const { code, stdout, stderr } = await runCommand(['serve', '--echo', '--port', '0', '--store', `sqlite:${file}`])
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assertOneLine(stderr)
  })
})

describe('dragoman serve', () => {
  const shout = `import { agent } from ${JSON.stringify(builtLibrary)}
    const shout = agent('Shout', async function* ({ text }) { yield text.toUpperCase() })`

  it.each<[string, string]>([
    ['its default', `${shout}\nexport default shout`],
    ['`agent`', `${shout}\nexport { shout as agent }`],
  ])('serves the agent that a module exports as %s', async (_, source) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'my-agent.mjs'), source)
    await using server = await startServer(['./my-agent.mjs'], { cwd: folder.path })
    assert.match(server.stdout, /^Shout is ready at http:\/\/localhost:\d+\/\n/)
    assert.equal(textsOf(await sendTask(server.url, 'hello')), 'HELLO')
    const card = (await (await fetch(new URL('.well-known/agent-card.json', server.url))).json()) as {
      name: string
      supportedInterfaces: readonly { url: string }[]
    }
    assert.equal(card.name, 'Shout')
    for (const { url } of card.supportedInterfaces) assert.ok(url.includes(new URL(server.url).host), url)
  })

  it('serves the agents of a module that exports several, each under its path', async () => {
    await using folder = await temporaryFolder()
    const source = `${shout}\nconst hush = agent('Hush', async function* ({ text }) { yield text.toLowerCase() })\nexport default [shout, hush]`
    await writeFile(join(folder.path, 'agents.mjs'), source)
    await using server = await startServer([join(folder.path, 'agents.mjs')])
    assert.equal(textsOf(await sendTask(new URL('/shout', server.url).href, 'Hello')), 'HELLO')
    assert.equal(textsOf(await sendTask(new URL('/hush', server.url).href, 'Hello')), 'hello')
  })

  it(proves('R-SEC-2', 'with --api-key rejects callers without the key, and serves its card to all'), async () => {
    await using server = await startServer(['--echo', '--api-key', 'open sesame'])
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' })
    const request = async (path: string, headers: Record<string, string>, init: RequestInit = {}) => {
      const response = await fetch(new URL(path, server.url), {
        ...init,
        headers: { 'content-type': 'application/json', ...headers },
      })
      return {
        response,
        answer: {
          status: response.status,
          contentType: response.headers.get('content-type') ?? '',
          text: await response.text(),
        },
      }
    }
    for (const headers of [
      {},
      { 'x-api-key': '' },
      { 'x-api-key': 'open' },
      { 'x-api-key': 'Open Sesame' },
      { authorization: 'Bearer open sesame' },
    ]) {
      const overRpc = await request('/', headers, { method: 'POST', body })
      const overRest = await request('/tasks', headers)
      const unknownPath = await request('/no/such/path', headers)
      assert.equal(readRpc(overRpc.answer).error?.reason, 'UNAUTHENTICATED')
      for (const { answer } of [overRest, unknownPath]) assert.equal(readRest(answer).error?.reason, 'UNAUTHENTICATED')
      for (const { response } of [overRpc, overRest, unknownPath]) {
        assert.equal(response.status, 401)
        assert.match(response.headers.get('www-authenticate') ?? '', /ApiKey/)
      }
    }
    const card = await request('/.well-known/agent-card.json', {})
    assert.equal(card.response.status, 200)
    expect(JSON.parse(card.answer.text)).toMatchObject({
      securitySchemes: { apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
      securityRequirements: [{}],
    })
    assert.ok(!card.answer.text.includes('sesame') && !server.stdout.includes('sesame'))
    assert.equal((await request('/healthz', {})).response.status, 200)
    const inside = await request('/', { 'x-api-key': 'open sesame' }, { method: 'POST', body })
    expect(readRpc(inside.answer).result).toMatchObject({ tasks: [] })
  })

  it('stores its tasks in the given file', async () => {
    await using folder = await temporaryFolder()
    const args = ['--echo', '--store', `sqlite:${join(folder.path, 'tasks.sqlite')}`]
    let task: TaskView
    {
      await using server = await startServer(args)
      task = await sendTask(server.url, 'hello')
      server.signal('SIGTERM')
      assert.equal((await within(15_000, 'the server to stop', server.exit)).code, 0)
    }
    await using server = await startServer(args)
    assert.deepEqual(await getTask(server.url, task.id), task)
  })

  it('prints its address on the ready line, and errors that callers must not see on stderr', async () => {
    await using server = await startServer()
    await sendTask(server.url, 'hello')
    assert.match(server.stdout, /^Echo is ready at http:\/\/localhost:\d+\/\n/)
    assert.equal(server.stderr, '')
    await sendTask(server.url, 'crash')
    await eventually(5000, 'the log', async () => server.stderr.includes('Crashed as asked'))
  })
})

describe('dragoman serve ends', { timeout: 40_000 }, () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    proves('E-12', 'at %s with exit 0 after running turns have finished'),
    async (signal) => {
      await using server = await startServer()
      using stream = (
        await openStream(server.url, 'SendStreamingMessage', { message: newMessage('chunks 60 20') })
      ).read()
      const blocking = sendTask(server.url, 'sleep 600')
      await eventually(5000, 'both tasks to run', async () => {
        const { tasks } = await result<{ readonly tasks: readonly unknown[] }>(server.url, 'ListTasks', {})
        return tasks.length === 2
      })
      server.signal(signal)
      await eventually(5000, 'new calls to be refused', async () => await isRefused(server.url))
      assert.equal(stream.isEnded, false, 'the stream continues meanwhile')
      const events = await stream.ends(15_000)
      expect(events.at(-1)?.body).toHaveProperty('statusUpdate.status.state', 'TASK_STATE_COMPLETED')
      assert.equal((await blocking).status.state, 'TASK_STATE_COMPLETED')
      const { code, stderr } = await within(5000, 'the server to stop', server.exit)
      assert.equal(code, 0)
      assert.equal(stderr, '')
    },
  )

  it(proves('E-12', 'at SIGTERM at once if no turn runs, with open connections and idle subscribers'), async () => {
    await using server = await startServer()
    const asked = await sendTask(server.url, 'ask')
    using subscriber = (await openStream(server.url, 'SubscribeToTask', { id: asked.id })).read()
    await subscriber.sees(1)
    await fetch(new URL('/healthz', server.url)).then((response) => response.text()) // leaves an idle connection in the pool
    server.signal('SIGTERM')
    await subscriber.ends(5000)
    assert.equal((await within(5000, 'the server to stop', server.exit)).code, 0)
  })

  it(proves('E-12', 'at SIGTERM after ten seconds, and hands over unfinished turns'), async () => {
    await using folder = await temporaryFolder()
    const args = ['--echo', '--store', `sqlite:${join(folder.path, 'tasks.sqlite')}`]
    let id = ''
    {
      await using server = await startServer(args)
      ;({ id } = await sendTask(server.url, 'sleep 60000', { configuration: { returnImmediately: true } }))
      server.signal('SIGTERM')
      assert.equal((await within(20_000, 'the server to stop', server.exit)).code, 0)
    }
    await using server = await startServer(args)
    await eventually(
      5000,
      'the task to fail',
      async () => (await getTask(server.url, id)).status.state === 'TASK_STATE_FAILED',
    )
  })

  it('at the second signal at once', async () => {
    await using server = await startServer()
    await result(server.url, 'SendMessage', {
      message: newMessage('sleep 60000'),
      configuration: { returnImmediately: true },
    })
    server.signal('SIGTERM')
    await eventually(5000, 'new calls to be refused', async () => await isRefused(server.url))
    server.signal('SIGTERM')
    assert.equal((await within(3000, 'the server to stop', server.exit)).code, 1)
  })
})

/** Asserts exit 2, an empty stdout, and one sentence on stderr that names the argument. */
function assertRefused({ code, stdout, stderr }: Exit, named: string): void {
  assert.equal(code, 2, `exit ${code}: ${stderr}`)
  assert.equal(stdout, '')
  assertOneLine(stderr)
  assert.ok(stderr.includes(named), `${named} is not in ${stderr}`)
}

function assertOneLine(stderr: string): void {
  assert.match(stderr, /^dragoman: [^\n]+\n$/)
  assertNoStack(stderr)
}

function assertNoStack(stderr: string): void {
  assert.doesNotMatch(stderr, /^\s+at .*:\d+/m)
}

/** Whether the connection was refused, or the server asked for a retry. */
async function isRefused(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: newMessage('hello') } }),
      signal: AbortSignal.timeout(5000),
    })
    await response.text()
    return response.status === 503
  } catch {
    return true
  }
}

async function occupyPort(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server: Server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return { port: address.port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}
