/** `dragoman registry`: a registry in a separate process, agents that register, and kills of either. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { cli, json, jsonLines } from './cli-command.js'
import { runCommand, startProcess, startServer, temporaryFolder } from './server-process.js'

const startRegistry = (...args: string[]) =>
  startProcess(['registry', 'serve', '--allow-private', '--no-probes', '--port', '0', ...args])

interface Page {
  readonly total: number
  readonly agents: readonly { readonly name: string; readonly instances: readonly { readonly url: string }[] }[]
}

async function listed(url: string, ...args: string[]): Promise<Page> {
  const { stdout } = await cli(['registry', 'list', '--registry', url, '-o', 'json', ...args])
  return json(stdout) as Page
}

describe('dragoman registry', () => {
  it('finds agents that register, by name, and sends to them', async () => {
    await using registry = await startRegistry()
    await using agent = await startServer(['--echo', '--register', registry.url])
    await eventually(10_000, 'the agent to be listed', async () => (await listed(registry.url)).total === 1)
    const [{ name } = { name: '' }] = (await listed(registry.url)).agents
    const sent = await cli(['send', name, 'hello', '--registry', registry.url])
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') })
    agent.signal('SIGTERM')
    await agent.exit
    expect((await listed(registry.url)).total).toBe(0)
  })

  it('publishes, searches, watches and withdraws', async () => {
    await using registry = await startRegistry('--owner-key', 'ann=secret', '--public-read')
    await using folder = await temporaryFolder()
    await using agent = await startServer()
    const card = (await (await fetch(`${agent.url}.well-known/agent-card.json`)).json()) as object
    const path = join(folder.path, 'card.json')
    await writeFile(path, JSON.stringify({ ...card, description: '查询天气预报' }))
    const publish = ['registry', 'publish', path, '--registry', registry.url, '--name', 'tianqi', '--tag', '气象']
    expect(await cli(publish)).toMatchObject({ code: 4, stderr: expect.stringContaining('credentials') })
    expect(await cli([...publish, '-H', 'X-API-Key: secret'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Published public\/tianqi /),
    })
    const search = await cli(['registry', 'search', '天气', '--registry', registry.url, '-o', 'json'])
    expect(json(search.stdout)).toMatchObject({
      total: 1,
      agents: [{ name: 'tianqi', owner: 'ann', tags: expect.arrayContaining(['气象']) }],
    })
    const watch = await cli([
      'registry',
      'watch',
      '--registry',
      registry.url,
      '--after',
      '0',
      '--count',
      '3',
      '-o',
      'json',
    ])
    expect(jsonLines(watch.stdout)).toMatchObject([
      { type: 'ready', revision: 0 },
      { type: 'agent', name: 'tianqi' },
      { type: 'published', name: 'tianqi' },
    ])
    const withdraw = ['registry', 'withdraw', 'tianqi', '--registry', registry.url]
    expect((await cli([...withdraw, '-H', 'X-API-Key: secret'])).stdout).toBe('Withdrew 1 instance\n')
    expect(await cli([...withdraw, '-H', 'X-API-Key: secret'])).toMatchObject({ code: 1 })
  })

  it('resolves names with credentials for the registry, and reports unknown names', async () => {
    await using registry = await startRegistry('--owner-key', 'ann=secret')
    await using agent = await startServer([
      '--echo',
      '--register',
      registry.url,
      '--register-header',
      'X-API-Key: secret',
    ])
    const known = ['--registry', registry.url, '--registry-header', 'X-API-Key: secret']
    const send = (name: string, ...args: string[]) => cli(['send', name, 'hello', ...args])
    await eventually(10_000, 'the agent to be found', async () => (await send('Echo', ...known)).stdout === 'hello\n')
    expect(await send('Echo', '--registry', registry.url)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('--registry-header'),
    })
    expect(await send('nosuch.invalid', ...known)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`is not a known host, and not found in the registry ${registry.url}`),
    })
    expect(agent.stderr).toBe('')
    // The command in the hint finds the agent again, once the secret is filled in.
    const asked = await cli(['send', 'Echo', 'ask', ...known])
    const [, next = '', task = ''] =
      /dragoman (send .*) --registry-header 'X-API-Key: …' --task (\S+) "…"/.exec(asked.stderr) ?? []
    const header = ['--registry-header', 'X-API-Key: secret']
    const answered = await cli([...next.split(' '), ...header, '--task', task, 'second'])
    expect(answered).toMatchObject({ code: 0, stdout: 'ask\nsecond\n' })
  })

  it('names the option that accepts agents on this machine, in one line', async () => {
    await using registry = await startProcess(['registry', 'serve', '--no-probes', '--port', '0'])
    expect(registry.stdout).toContain('--allow-private accepts them')
    await using agent = await startServer(['--echo', '--register', registry.url])
    const warned = await eventually(10_000, 'the warning', () => /^warning: .*refused.*\n/.exec(agent.stderr)?.[0])
    expect(warned).toContain('--allow-private')
    expect(agent.stderr).toBe(warned)
  })

  it('removes a killed agent when its lease expires, and keeps its records when it is killed itself', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'registry.sqlite')}`
    const registry = await startRegistry('--store', store)
    await using agent = await startServer()
    const publish = ['registry', 'publish', agent.url, '--registry', registry.url]
    expect((await cli([...publish, '--name', 'lasting'])).code).toBe(0)
    expect((await cli([...publish, '--name', 'leased', '--ttl', '5'])).code).toBe(0)
    await registry.kill()
    await using again = await startRegistry('--store', store)
    const names = async () => (await listed(again.url)).agents.map(({ name }) => name)
    expect(await names()).toContain('lasting')
    await eventually(15_000, 'the lease to expire', async () => (await names()).join() === 'lasting')
  })

  it.each([
    [['registry', 'list', '--registry', 'nowhere'], 'invalid URL'],
    [['registry', 'serve', '--host', '0.0.0.0', '--port', '0'], '--no-auth'],
    [['registry', 'serve', '--owner-key', '=x', '--port', '0'], 'OWNER=KEY'],
    [['registry', 'serve', '--store', 'mysql:x', '--port', '0'], 'mysql:x'],
  ])('%j is invalid usage', async (args, named) => {
    const { code, stdout, stderr } = await runCommand(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(named)
  })

  it('reports that no registry answers', async () => {
    expect(await cli(['registry', 'list', '--registry', 'http://127.0.0.1:9'])).toMatchObject({ code: 3 })
  })
})
