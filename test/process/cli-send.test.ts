/** `dragoman send`: its messages, output and exit codes. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, json, jsonLines } from './cli-command.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

let server: ServerProcess
let ref: string

beforeAll(async () => {
  server = await startServer()
  ref = new URL(server.url).host
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const id = /[\da-f]{8}-[\da-f-]{27}/

describe('dragoman send', () => {
  it('prints the answer, and nothing else', async () => {
    expect(await cli(['send', ref, 'hello', 'world'])).toMatchObject({ code: 0, stdout: 'hello world\n', stderr: '' })
  })

  it('accepts the agent with -a', async () => {
    expect(await cli(['send', '-a', ref, 'hello', 'world'])).toMatchObject({ code: 0, stdout: 'hello world\n' })
  })

  it('prints a Message as well as a Task', async () => {
    expect(await cli(['send', ref, 'msg good morning'])).toMatchObject({ code: 0, stdout: 'good morning\n' })
    const { stdout } = await cli(['send', ref, 'msg good morning', '-o', 'json'])
    expect(json(stdout)).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'good morning' }] } })
  })

  it('prints the protocol’s own JSON with -o json', async () => {
    const { code, stdout, stderr } = await cli(['send', ref, 'hello', '-o', 'json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(json(stdout)).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'hello' }] }] },
    })
  })

  it.each([
    ['fail', 'Failed as asked\n', /^Task \S+ failed\n$/],
    ['reject', 'Rejected as asked\n', /^Task \S+ was rejected\n$/],
    ['crash', 'The agent failed\n', /^Task \S+ failed\n$/],
  ])('treats %s as an answer: exit 0', async (text, stdout, stderr) => {
    const exit = await cli(['send', ref, text])
    expect(exit).toMatchObject({ code: 0, stdout })
    expect(exit.stderr).toMatch(stderr)
  })

  it('lists files with their sizes and the command that saves them', async () => {
    const { code, stdout, stderr } = await cli(['send', ref, 'file'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[fox.txt (text/plain, 20 B)]\n' })
    expect(stderr).toMatch(new RegExp(`^Save the files: dragoman task download ${ref} ${id.source}\n$`))
  })

  it('prints data as JSON', async () => {
    const { stdout } = await cli(['send', ref, 'data'])
    expect(json(stdout)).toEqual({ answer: 42, list: [1, 2, 3], nested: { yes: true, nothing: null } })
  })

  it('prints a question with the command that answers it, which works', async () => {
    const asked = await cli(['send', ref, 'ask'])
    expect(asked).toMatchObject({ code: 0, stdout: 'What is the second text?\n' })
    const [, command = ''] = /^The agent asks for input: dragoman (.+) "…"\n$/.exec(asked.stderr) ?? []
    expect(await cli([...command.split(' '), 'the second'])).toMatchObject({ code: 0, stdout: 'ask\nthe second\n' })
  })

  it('continues a context', async () => {
    const first = json((await cli(['send', ref, 'one', '-o', 'json'])).stdout) as { task: { contextId: string } }
    const { contextId } = first.task
    const second = await cli(['send', ref, '--context', contextId, 'two', '-o', 'json'])
    expect(json(second.stdout)).toMatchObject({ task: { contextId } })
  })

  it('refers to other tasks with --reference', async () => {
    const first = json((await cli(['send', ref, 'one', '-o', 'json'])).stdout) as { task: { id: string } }
    const args = ['--reference', first.task.id, '--reference', 'another', 'two', '-o', 'json']
    const referenceTaskIds = [first.task.id, 'another']
    for (const more of [[], ['--async'], ['--protocol', 'v0.3']]) {
      const { task } = json((await cli(['send', ref, ...args, ...more])).stdout) as { task: { id: string } }
      expect(task.id).not.toBe(first.task.id)
      const kept = json((await cli(['task', 'get', ref, task.id, '--history', '9', '-o', 'json'])).stdout)
      expect(kept).toMatchObject({ history: [{ role: 'ROLE_USER', referenceTaskIds }] })
    }
  })

  it('does not wait with --async', async () => {
    const { code, stdout, stderr } = await cli(['send', ref, '--async', 'sleep 30000'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Task \S+ is (submitted|working)\n$/)
    expect(stderr).toMatch(/^Its answer: dragoman task get \S+ \S+ --wait\n$/)
  })

  it('runs repeated sends with one --key once', async () => {
    const args = ['send', ref, 'once', '--key', `key-${process.pid}`, '-o', 'json']
    const [first, second] = [json((await cli(args)).stdout), json((await cli(args)).stdout)] as {
      task: { id: string }
    }[]
    expect(second?.task.id).toBe(first?.task.id)
  })
})

describe('dragoman send --stream', () => {
  it('prints text as it arrives', async () => {
    const { code, stdout, stderr } = await cli(['send', ref, '--stream', 'chunks 3 5'])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'chunk 1 chunk 2 chunk 3 \n', stderr: '' })
  })

  it('prints every event as a JSON line with -o json', async () => {
    const { code, stdout } = await cli(['send', ref, '--stream', 'chunks 3', '-o', 'json'])
    expect(code).toBe(0)
    expect(jsonLines(stdout).map((event) => Object.keys(event as object)[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
  })

  it('prints a question and how to answer it', async () => {
    const { stdout, stderr } = await cli(['send', ref, '--stream', 'ask'])
    expect(stdout).toBe('What is the second text?\n')
    expect(stderr).toMatch(/^The agent asks for input: dragoman send \S+ --task \S+ "…"\n$/)
  })
})

describe('dragoman send reads', () => {
  /** The message that the agent received. */
  async function sent(args: readonly string[], options: Parameters<typeof cli>[1] = {}): Promise<unknown> {
    const { code, stdout, stderr } = await cli(['send', ref, ...args, '-o', 'json'], options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return (json(stdout) as { task: { history: { parts: unknown }[] } }).task.history[0]?.parts
  }

  it('text, files and data in the order they were typed', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'note.md'), '# Note\n')
    await writeFile(join(folder.path, 'blob'), Buffer.from([0, 1, 2, 255]))
    await writeFile(join(folder.path, 'in.json'), '{"from":"a file"}')
    const typed = ['first', '--data', '{"a":[1,null]}', '--file', 'note.md', '--text', 'last', '--file', 'blob']
    const more = ['--media-type', 'image/x-tiny', '--data', '@in.json', '--file', 'https://files.example/a.png']
    expect(await sent([...typed, ...more], { cwd: folder.path })).toEqual([
      { text: 'first' },
      { data: { a: [1, null] }, mediaType: 'application/json' },
      { raw: 'IyBOb3RlCg==', filename: 'note.md', mediaType: 'text/markdown' },
      { text: 'last' },
      { raw: 'AAEC/w==', filename: 'blob', mediaType: 'image/x-tiny' },
      { data: { from: 'a file' }, mediaType: 'application/json' },
      { url: 'https://files.example/a.png' },
    ])
  })

  it('stdin as text for a dash', async () => {
    expect(await sent(['Read this:', '-'], { stdin: 'line 1\nline 2\n' })).toEqual([
      { text: 'Read this: line 1\nline 2\n' },
    ])
  })

  it('stdin as a file', async () => {
    expect(await sent(['--file', '-', '--media-type', 'text/csv'], { stdin: 'a,b\n' })).toEqual([
      { raw: 'YSxiCg==', mediaType: 'text/csv' },
    ])
  })

  it.each<[string, readonly string[], RegExp]>([
    ['no message', [], /the message is empty/],
    ['data that is not JSON', ['--data', '{oops'], /--data: invalid JSON/],
    ['a missing file', ['--file', '/no/such/file'], /file not found: \/no\/such\/file/],
    ['metadata that is not an object', ['hi', '--metadata', '[1]'], /--metadata: expected a JSON object/],
    ['stdin twice', ['-', '--file', '-'], /stdin/],
    ['--media-type without a file', ['hi', '--media-type', 'text/plain'], /--media-type must follow/],
    ['--stream and --async', ['hi', '--stream', '--async'], /exclude each other/],
    ['an unknown dialect', ['hi', '--protocol', '9.9'], /unknown dialect 9\.9/],
    ['a header without a name', ['hi', '--header', 'oops'], /Name: value/],
    ['an invalid time limit', ['hi', '--timeout', '0'], /above 0/],
  ])('%s: exit 2, before anything is sent', async (_, args, message) => {
    const { code, stdout, stderr } = await cli(['send', 'localhost:1', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

describe('dragoman send speaks', () => {
  it.each([
    ['v1', 'rest'],
    ['v1', 'grpc'],
    ['0.3', 'jsonrpc'],
    ['0.3', 'grpc'],
  ])('%s over %s on request', async (protocol, binding) => {
    const { code, stdout } = await cli(['send', ref, '--protocol', protocol, '--binding', binding, '--pin', 'hello'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello\n' })
  })
})
