/** `dragoman task`: reading, following, cancelling and downloading tasks. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, json, jsonLines } from './cli-command.js'
import { builtLibrary, type ServerProcess, startServer, temporaryFolder } from './server-process.js'

let server: ServerProcess
let ref: string

beforeAll(async () => {
  server = await startServer()
  ref = new URL(server.url).host
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function start(text: string, ...options: string[]): Promise<{ id: string; contextId: string }> {
  const { stdout } = await cli(['send', ref, '--async', text, '-o', 'json', ...options])
  return (json(stdout) as { task: { id: string; contextId: string } }).task
}

describe('dragoman task get', () => {
  it('prints a task as text', async () => {
    const { id, contextId } = await start('hello')
    const { code, stdout } = await cli(['task', 'get', ref, id, '--wait', '--history', '5'])
    expect(code).toBe(0)
    expect(stdout.replace(/since \S+/, 'since TIME')).toBe(
      `Task     ${id}
Context  ${contextId}
State    completed since TIME

History
  user   hello

Artifact artifact-1-1
  hello
`,
    )
  })

  it('prints the protocol’s task with -o json', async () => {
    const { id } = await start('sleep 100')
    const { stdout } = await cli(['task', 'get', '-a', ref, id, '--wait', '-o', 'json'])
    expect(json(stdout)).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'slept 100' }] }],
    })
  })

  it('stops waiting at a question', async () => {
    const { id } = await start('ask')
    const { stdout, stderr } = await cli(['task', 'get', ref, id, '--wait'])
    expect(stdout).toMatch(/^State +input-required/m)
    expect(stderr).toContain(`dragoman send ${ref} --task ${id}`)
  })
})

describe('dragoman task list', () => {
  it('lists tasks by context and state, in pages or all', async () => {
    const { contextId, id: first } = await start('one')
    const ids = [first]
    for (const text of ['two', 'three', 'ask']) ids.unshift((await start(text, '--context', contextId)).id)
    const list = async (...options: string[]) => {
      const { stdout } = await cli(['task', 'list', ref, '--context', contextId, '-o', 'json', ...options])
      return json(stdout) as { tasks: { id: string }[]; nextPageToken: string; totalSize: number }
    }
    const all = await list('--all')
    expect(all.tasks.map(({ id }) => id).sort()).toEqual([...ids].sort())
    expect(all).toMatchObject({ nextPageToken: '', totalSize: 4 })
    const asking = await list('--state', 'input-required')
    expect(asking.tasks.map(({ id }) => id)).toEqual([ids[0]])
    const page = await list('--limit', '3')
    expect(page.tasks).toHaveLength(3)
    const rest = await list('--page-token', page.nextPageToken)
    expect([...page.tasks, ...rest.tasks].map(({ id }) => id)).toEqual(all.tasks.map(({ id }) => id))
    const { stdout, stderr } = await cli(['task', 'list', ref, '--context', contextId, '--limit', '1'])
    expect(stdout).toMatch(/^TASK +STATE +SINCE +CONTEXT\n\S+ +input-required +\S+ +\S+\n$/)
    expect(stderr).toMatch(/^1 of 4 tasks; continue with --page-token \S+\n$/)
  })

  it('does not request messages, because it does not print them', async () => {
    const { stderr } = await cli(['task', 'list', ref, '--debug'])
    expect(stderr).toMatch(/historyLength"?[=:]0/)
  })

  it('reports that there are no tasks', async () => {
    expect(await cli(['task', 'list', ref, '--context', 'nothing'])).toMatchObject({ code: 0, stdout: 'No tasks\n' })
  })

  it.each([
    ['--state', 'asleep'],
    ['--limit', '0'],
    ['--since', 'yesterday'],
  ])('rejects %s %s', async (option, value) => {
    expect(await cli(['task', 'list', ref, option, value])).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('dragoman task cancel', () => {
  it('cancels a running task', async () => {
    const { id } = await start('sleep 60000')
    expect(await cli(['task', 'cancel', ref, id])).toMatchObject({ code: 0, stdout: `Task ${id} is canceled\n` })
  })

  it('fails for a task that has ended', async () => {
    const { id } = await start('hello')
    await cli(['task', 'get', ref, id, '--wait'])
    const { code, stderr } = await cli(['task', 'cancel', ref, id, '-o', 'json'])
    expect(code).toBe(1)
    expect(json(stderr)).toMatchObject({ error: { a2aCode: 'TASK_NOT_CANCELABLE' } })
  })
})

describe('dragoman task subscribe', () => {
  it('follows a task to its end', async () => {
    const { id } = await start('chunks 20 100')
    const { code, stdout } = await cli(['task', 'subscribe', ref, id])
    expect(code).toBe(0)
    expect(stdout).toBe(`${Array.from({ length: 20 }, (_, place) => `chunk ${place + 1} `).join('')}\n`)
  })

  it('prints a task that has ended', async () => {
    const { id } = await start('hello')
    await cli(['task', 'get', ref, id, '--wait'])
    const { code, stdout } = await cli(['task', 'subscribe', ref, id, '-o', 'json'])
    expect(code).toBe(0)
    expect(jsonLines(stdout)).toMatchObject([{ task: { id, status: { state: 'TASK_STATE_COMPLETED' } } }])
  })
})

describe('dragoman task download', () => {
  it('writes artifacts into a folder and overwrites nothing', async () => {
    await using folder = await temporaryFolder()
    const { id } = await start('file')
    const download = (...options: string[]) =>
      cli(['task', 'download', ref, id, '--out', 'files', ...options], { cwd: folder.path })
    expect(await download()).toMatchObject({ code: 0, stdout: `${join('files', 'fox.txt')} (20 B)\n` })
    const path = join(folder.path, 'files', 'fox.txt')
    expect(await readFile(path, 'utf8')).toBe('The quick brown fox\n')
    await writeFile(path, 'mine')
    expect(await download()).toMatchObject({ code: 1, stdout: '' })
    expect(await readFile(path, 'utf8')).toBe('mine')
    expect(await download('--force')).toMatchObject({ code: 0 })
    expect(await readFile(path, 'utf8')).toBe('The quick brown fox\n')
  })

  it('writes no file outside the folder', async () => {
    await using folder = await temporaryFolder()
    const names = ['../../escaped.txt', '/etc/escaped', '..', '.bashrc', 'a/b\\c.txt', 'con', 'x\u0000y\u001b[2J']
    await writeFile(
      join(folder.path, 'agent.mjs'),
      `import { agent, artifact, data, file, text } from ${JSON.stringify(builtLibrary)}
       const bytes = new TextEncoder().encode('x')
       export default agent('Sly', async function* () {
         for (const filename of ${JSON.stringify(names)}) yield artifact('f', file(bytes, { filename }))
         yield artifact('../notes', [text('one '), text('two')])
         yield artifact('../notes', data({ a: 1 }))
         yield artifact('link', file(new URL('http://127.0.0.1:1/secret.txt')))
       })`,
    )
    await using sly = await startServer([join(folder.path, 'agent.mjs')])
    const place = new URL(sly.url).host
    const sent = json((await cli(['send', place, 'go', '-o', 'json'])).stdout) as { task: { id: string } }
    await mkdir(join(folder.path, 'in', 'out'), { recursive: true })
    const { code, stdout, stderr } = await cli(
      ['task', 'download', place, sent.task.id, '--out', 'out', '-o', 'json'],
      {
        cwd: join(folder.path, 'in'),
      },
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect((await readdir(join(folder.path, 'in', 'out'))).sort()).toEqual(
      ['_con', 'artifact', 'bashrc', 'c.txt', 'escaped', 'escaped.txt', 'notes.json', 'notes.txt', 'x_y_[2J'].sort(),
    )
    expect(await readdir(join(folder.path, 'in'))).toEqual(['out'])
    expect(await readFile(join(folder.path, 'in/out/notes.txt'), 'utf8')).toBe('one two')
    expect((json(stdout) as { files: unknown[] }).files.at(-1)).toEqual({
      name: 'secret.txt',
      url: 'http://127.0.0.1:1/secret.txt',
    })
  })

  it('prints links without control characters, and as JSON', async () => {
    await using folder = await temporaryFolder()
    const url = 'http://127.0.0.1:1/a\u001b]52;c;eA==\u0007\u009b2J\u202e\rb\nforged'
    await writeFile(
      join(folder.path, 'agent.mjs'),
      `import { agent, artifact } from ${JSON.stringify(builtLibrary)}
       export default agent('Sly', async function* () {
         yield artifact('link', { url: ${JSON.stringify(url)} })
       })`,
    )
    await using sly = await startServer([join(folder.path, 'agent.mjs')])
    const place = new URL(sly.url).host
    const sent = json((await cli(['send', place, 'go', '-o', 'json'])).stdout) as { task: { id: string } }
    const download = ['task', 'download', place, sent.task.id, '--out', folder.path]
    expect((await cli(download)).stdout).toBe('http://127.0.0.1:1/a]52;c;eA==2J b forged\n')
    const { stdout } = await cli([...download, '-o', 'json'])
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(json(stdout)).toMatchObject({ files: [{ url }] })
  })
})
