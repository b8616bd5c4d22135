/** `dragoman chat` from a pipe: one line is one turn. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { within } from '../hostile/waiting.js'
import { cli, InteractiveCommand, jsonLines } from './cli-command.js'
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

const chat = (lines: readonly string[], ...options: string[]) =>
  cli(['chat', ref, ...options], { stdin: lines.map((line) => `${line}\n`).join('') })

describe('dragoman chat', () => {
  it('answers turn by turn, questions included', async () => {
    const { code, stdout, stderr } = await chat(['hello', 'ask', 'the answer', 'chunks 2'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe('hello\nWhat is the second text?\nask\nthe answer\nchunk 1 chunk 2 \n')
  })

  it('keeps the context, and begins another at /new', async () => {
    const { stdout } = await chat(['one', 'two', '/new', 'three'], '-o', 'json')
    const contexts = jsonLines(stdout).flatMap((event) => {
      const { task } = event as { task?: { contextId: string } }
      return task ? [task.contextId] : []
    })
    expect(contexts).toHaveLength(3)
    expect(contexts[1]).toBe(contexts[0])
    expect(contexts[2]).not.toBe(contexts[0])
  })

  it('supports chat commands', async () => {
    const { code, stdout, stderr } = await chat([
      '/help',
      '/task',
      'ask',
      '/cancel',
      '/cancel',
      '/what',
      '//x',
      '/exit',
      'no',
    ])
    expect(code).toBe(0)
    expect(stdout).toBe('What is the second text?\n/x\n')
    expect(stderr).toMatch(/^\/exit +leave/)
    expect(stderr).toMatch(/There is no task yet\n/)
    expect(stderr).toMatch(/Canceled task \S+\nNo task waits for an answer\nUnknown command \/what/)
  })

  it('shows the last task at /task', async () => {
    const { stdout } = await chat(['hello', '/task'])
    expect(stdout).toMatch(/^hello\nTask +\S+\nContext +\S+\nState +completed/)
  })

  it('continues the task of --task', async () => {
    const asked = await cli(['send', ref, 'ask'])
    const [, id = ''] = /--task (\S+)/.exec(asked.stderr) ?? []
    expect(await chat(['later'], '--task', id)).toMatchObject({ code: 0, stdout: 'ask\nlater\n' })
  })

  it('ends with the first failure', async () => {
    const { code, stdout, stderr } = await chat(['hello', 'never'], '--task', 'nobody')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^dragoman: Task not found: nobody\n/)
  })

  it('accepts a line of JSON as the answer to a form; if it is rejected, the next line', async () => {
    await using folder = await temporaryFolder()
    await writeFile(
      join(folder.path, 'agent.mjs'),
      `import { agent, ask } from ${JSON.stringify(builtLibrary)}
       const schema = { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] }
       export default agent('Form', async function* (turn) {
         if (turn.history.length > 1) yield JSON.stringify(turn.message.parts)
         else yield ask('How large?', { schema })
       })`,
    )
    await using form = await startServer([join(folder.path, 'agent.mjs')])
    const chat = (...lines: string[]) => cli(['chat', new URL(form.url).host], { stdin: `${lines.join('\n')}\n` })
    const answered = 'How large?\n[{"data":{"size":3},"mediaType":"application/json"}]\n'
    expect(await chat('go', '{"size":3}')).toMatchObject({ code: 0, stdout: answered, stderr: '' })
    const second = await chat('go', '{"size":"large"}', '{"size":3}')
    expect(second).toMatchObject({ code: 0, stdout: answered })
    expect(second.stderr).toContain('message.parts[0].data.size: must be an integer')
    const never = await chat('go', 'large', '{"size":"large"}')
    expect(never).toMatchObject({ code: 1, stdout: 'How large?\n' })
    expect(never.stderr).toContain('message.parts[0].data.size: must be an integer')
    expect(never.stderr).toMatch(/dragoman: Task \S+ still waits for an answer: the agent rejected all answers\n$/)
    expect(await chat('go', 'large', '/cancel')).toMatchObject({ code: 0 })
  })
})

describe.skipIf(process.platform === 'win32')('Ctrl-C in a chat', () => {
  it('cancels the turn at the first Ctrl-C and continues the chat', async () => {
    await using chat = new InteractiveCommand(['chat', ref, '-o', 'json'])
    chat.write('sleep 60000\n')
    await chat.waitForOutput(/TASK_STATE_WORKING/)
    chat.signal('SIGINT')
    await chat.waitForOutput(/TASK_STATE_CANCELED/)
    chat.end('hello\n')
    expect(await within(5000, 'the chat to end', chat.exit)).toMatchObject({ code: 0 })
    expect(chat.stdout).toContain('"text":"hello"')
  })

  it('leaves at the second Ctrl-C', async () => {
    await using uncancellable = await uncancellableAgent()
    await using chat = new InteractiveCommand(['chat', uncancellable.ref])
    chat.write('go\n')
    await chat.waitForOutput(/Not now/)
    chat.signal('SIGINT')
    await chat.waitForOutput(/Cancelling/)
    chat.signal('SIGINT')
    expect(await within(4000, 'the chat to end', chat.exit)).toMatchObject({ code: 0 })
  })
})

/** An agent that ignores cancellation, so that its end takes the whole grace period. */
async function uncancellableAgent(): Promise<{ readonly ref: string } & AsyncDisposable> {
  const folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'agent.mjs'),
    `import { agent, working } from ${JSON.stringify(builtLibrary)}
     export default agent('Stubborn', async function* () {
       yield working('Not now')
       await new Promise((resolve) => setTimeout(resolve, 60_000))
     })`,
  )
  const running = await startServer([join(folder.path, 'agent.mjs')])
  return {
    ref: new URL(running.url).host,
    [Symbol.asyncDispose]: async () => {
      await running[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}
