/** `dragoman serve --exec`: any program as an agent, and no orphaned processes. */
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serve } from 'dragoman'
import { type AgentClient, connect, type Task } from 'dragoman/client'
import { describe, expect, it } from 'vitest'
import { execAgent } from '../../src/cli/exec-agent.js'
import { anonymous } from '../../src/model/service.js'
import { eventually, within } from '../hostile/waiting.js'
import { runCommand, type ServerProcess, startServer, temporaryFolder } from './server-process.js'

interface Program extends AsyncDisposable {
  readonly server: ServerProcess
  readonly client: AgentClient
}

async function program(command: string, ...args: string[]): Promise<Program> {
  const server = await startServer(['--exec', command, ...args])
  const client = await connect(server.url)
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** A script for Node, in quotes for a command line. */
function node(script: string): string {
  return `${process.execPath} -e '${script}'`
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie still has a process id, but no longer runs.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function begin(client: AgentClient): Promise<Task> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
  const answer = await client.sendMessage({ message, configuration: { returnImmediately: true } })
  if ('task' in answer) return answer.task
  throw new Error('There is no task')
}

describe('dragoman serve --exec', () => {
  it('gives the text of a message to a program, and its output to the caller', async () => {
    await using shout = await program('tr a-zö A-ZÖ')
    expect(shout.server.stdout).toMatch(/^tr is ready at /)
    const { text, state } = await shout.client.ask('hello')
    expect({ text, state }).toEqual({ text: 'HELLO', state: 'TASK_STATE_COMPLETED' })
  })

  it('streams the output of the program as it is written', async () => {
    const script = 'process.stdout.write("one "); setTimeout(() => process.stdout.write("two"), 300)'
    await using slow = await program(node(script))
    const chunks: string[] = []
    for await (const update of slow.client.stream('go')) {
      if ('artifactUpdate' in update)
        chunks.push(...update.artifactUpdate.artifact.parts.map((part) => ('text' in part ? part.text : '')))
    }
    expect(chunks.filter((chunk) => chunk !== '')).toEqual(['one ', 'two'])
  })

  it('decodes characters whose bytes arrive in separate chunks', async () => {
    const script =
      'const b = Buffer.from("grüße 🐉"); let i = 0; const next = () => { if (i < b.length) process.stdout.write(b.subarray(i, ++i), () => setTimeout(next, 5)) }; next()'
    await using dragon = await program(node(script))
    expect((await dragon.client.ask('go')).text).toBe('grüße 🐉')
  })

  it('waits for slow readers, and returns a long answer completely', async () => {
    await using long = await program(node('process.stdin.resume(); process.stdout.write("x".repeat(3e6))'))
    expect((await long.client.ask('go')).text.length).toBe(3_000_000)
  })

  it('passes the ids of task and context to the program', async () => {
    await using printing = await program(
      node('console.log(process.env.DRAGOMAN_TASK_ID + " " + process.env.DRAGOMAN_CONTEXT_ID)'),
    )
    const { text, task } = await printing.client.ask('go')
    expect(text).toBe(`${task?.id} ${task?.contextId}\n`)
  })

  it('parses quotes, and no shell syntax', async () => {
    await using echo = await program(`printf '%s|' "two words" $HOME 'a;b' \\*`)
    expect((await echo.client.ask('go')).text).toBe('two words|$HOME|a;b|*|')
  })

  it('runs the command with sh with --shell, under another name', async () => {
    await using piped = await program('cat | tr a-z A-Z; printf %s "!"', '--shell', '--name', 'Shout')
    expect(piped.client.card.name).toBe('Shout')
    expect((await piped.client.ask('hey')).text).toBe('HEY!')
  })

  it('completes without output if the program prints nothing and does not read stdin', async () => {
    await using quiet = await program('true')
    expect(await quiet.client.ask('x'.repeat(500_000))).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: '' })
  })

  it('fails the task for other exit codes with a neutral message, and logs the last line of stderr', async () => {
    const script =
      'process.stdout.write("half"); console.error("first line\\nsecret path /etc/x"); process.exitCode = 3'
    await using broken = await program(node(script), '--verbose')
    const { state, task, artifacts } = await broken.client.ask('go')
    expect(state).toBe('TASK_STATE_FAILED')
    expect(artifacts[0]?.parts).toMatchObject([{ text: 'half' }])
    expect(JSON.stringify(task)).not.toContain('secret')
    expect(task?.status.message?.parts).toEqual([{ text: 'The program of this agent failed' }])
    await eventually(5000, 'the log', () => broken.server.stderr.includes('ended with exit code 3: secret path /etc/x'))
    expect(broken.server.stderr).not.toContain('first line')
  })

  it('fails the task and ends the program if it prints too much', async () => {
    await using loud = await program('yes', '--exec-max-output', '1')
    const { state, task } = await loud.client.ask('go')
    expect(state).toBe('TASK_STATE_FAILED')
    expect(task?.status.message?.parts).toEqual([{ text: 'The program wrote more than 1000000 bytes' }])
  })

  it('fails the task and ends the program after the time limit', async () => {
    await using folder = await temporaryFolder()
    const pidFile = join(folder.path, 'pid')
    await using slow = await program(`echo $$ > ${pidFile}; sleep 60`, '--shell', '--exec-timeout', '1')
    expect(await slow.client.ask('go')).toMatchObject({
      state: 'TASK_STATE_FAILED',
      text: 'The program exceeded its time limit',
    })
    await eventually(5000, 'the program to end', () => !isAlive(Number(readFileSync(pidFile, 'utf8'))))
  })

  it('sends SIGTERM to a cancelled program first', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'said')
    await writeFile(
      join(folder.path, 'polite.sh'),
      `trap 'echo bye > ${file}; exit 0' TERM\necho ready > ${file}\nwhile true; do sleep 0.05; done\n`,
    )
    await using polite = await program(`sh ${join(folder.path, 'polite.sh')}`)
    const task = await begin(polite.client)
    await eventually(5000, 'the program to run', () => existsSync(file) && readFileSync(file, 'utf8') === 'ready\n')
    expect((await polite.client.task(task.id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
    expect(readFileSync(file, 'utf8')).toBe('bye\n')
  })

  it('kills a cancelled program that ignores SIGTERM, and its child processes', async () => {
    await using folder = await temporaryFolder()
    const pids = join(folder.path, 'pids')
    const script = `trap '' TERM; (trap '' TERM; while true; do sleep 1; done) & echo $$ $! > ${pids}; while true; do sleep 1; done`
    await using stubborn = await program(script, '--shell')
    const task = await begin(stubborn.client)
    const [own = 0, child = 0] = await eventually(5000, 'the program to run', () => pidsIn(pids))
    expect((await within(8000, 'the cancel', stubborn.client.task(task.id).cancel())).status.state).toBe(
      'TASK_STATE_CANCELED',
    )
    await eventually(5000, 'both processes to end', () => !isAlive(own) && !isAlive(child))
  })

  /** A program that records its start and its end, and ends when the gate file exists. */
  const gated = (folder: string) => {
    const noted = join(folder, 'noted')
    const gate = join(folder, 'gate')
    const script = `echo start >> ${noted}; while [ ! -e ${gate} ]; do sleep 0.02; done; echo end >> ${noted}`
    const linesIn = () => (existsSync(noted) ? readFileSync(noted, 'utf8').split('\n').filter(Boolean) : [])
    return { script, linesIn, open: () => writeFile(gate, '') }
  }

  it('runs eight programs at once, and the others afterwards', async () => {
    await using folder = await temporaryFolder()
    const { script, linesIn, open } = gated(folder.path)
    await using busy = await program(script, '--shell')
    const tasks = await Promise.all(Array.from({ length: 12 }, () => begin(busy.client)))
    await eventually(15_000, 'eight programs', () => linesIn().length >= 8)
    await open()
    for (const { id } of tasks)
      await eventually(15_000, 'the task to end', async () => {
        const { status } = await busy.client.getTask({ id })
        return status.state === 'TASK_STATE_COMPLETED'
      })
    let running = 0
    let maxRunning = 0
    for (const line of linesIn()) {
      running += line === 'start' ? 1 : -1
      maxRunning = Math.max(maxRunning, running)
    }
    expect({ maxRunning, lines: linesIn().length }).toEqual({ maxRunning: 8, lines: 24 })
  })

  it('rejects messages beyond the queue, and removes cancelled ones from it', async () => {
    await using folder = await temporaryFolder()
    const { script, linesIn, open } = gated(folder.path)
    await using busy = await program(script, '--shell', '--exec-max', '1', '--exec-queue', '1')
    const first = await begin(busy.client)
    await eventually(15_000, 'the program', () => linesIn().length === 1)
    const second = await begin(busy.client)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'one too many' }] } as const
    await expect(busy.client.sendMessage({ message })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'Too many messages wait for a program (limit execQueue: 1, beside 1 running), try again later',
    })
    expect((await busy.client.task(second.id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
    const third = await begin(busy.client)
    await open()
    for (const { id } of [first, third])
      await eventually(15_000, 'the task to end', async () => {
        const { status } = await busy.client.getTask({ id })
        return status.state === 'TASK_STATE_COMPLETED'
      })
    expect(linesIn()).toEqual(['start', 'end', 'start', 'end'])
  })

  it('rejects concurrent messages beyond the queue', async () => {
    await using folder = await temporaryFolder()
    const { script, linesIn, open } = gated(folder.path)
    const slots = { running: 2, waiting: 1 }
    await using served = await serve(execAgent(script, { shell: true, timeoutMs: 0, maxBytes: 1000, slots, name: 'x' }))
    const service = served.services.get('x')
    const sends = Array.from({ length: 6 }, (_, n) => {
      const message = { messageId: `m${n}`, role: 'ROLE_USER', parts: [{ text: 'go' }] } as const
      return service?.sendMessage({ message }, { caller: anonymous })
    })
    const outcomes = Promise.allSettled(sends)
    await eventually(15_000, 'two programs', () => linesIn().length === 2)
    await open()
    const refused = (await outcomes).filter((each) => each.status === 'rejected')
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(3).fill('UNAVAILABLE'))
    expect(linesIn()).toHaveLength(6)
  })

  it('ends child processes that a program left running', async () => {
    await using folder = await temporaryFolder()
    const pids = join(folder.path, 'pids')
    await using parent = await program(`sleep 60 & echo $$ $! > ${pids}; echo done`, '--shell')
    expect((await within(8000, 'the answer', parent.client.ask('go'))).text).toBe('done\n')
    const [, child = 0] = pidsIn(pids) ?? []
    await eventually(5000, 'the process to end', () => !isAlive(child))
  })

  it.each([1, 2])('leaves no process running after %i signal(s)', { timeout: 40_000 }, async (signals) => {
    await using folder = await temporaryFolder()
    const pids = join(folder.path, 'pids')
    const script = `trap '' TERM; (trap '' TERM; while true; do sleep 1; done) & echo $$ $! > ${pids}; while true; do sleep 1; done`
    await using stubborn = await program(script, '--shell')
    await begin(stubborn.client)
    const [own = 0, child = 0] = await eventually(5000, 'the program to run', () => pidsIn(pids))
    for (let sent = 0; sent < signals; sent++) {
      stubborn.server.signal('SIGTERM')
      await new Promise((resolve) => setTimeout(resolve, 200)) // two signals at once are one
    }
    await within(25_000, 'the server to end', stubborn.server.exit)
    await eventually(5000, 'both processes to end', () => !isAlive(own) && !isAlive(child))
  })

  it.each<[string, readonly string[], RegExp]>([
    ['a missing program', ['--exec', 'no-such-program-here'], /program not found: no-such-program-here/],
    ['a quote that is never closed', ['--exec', "cat 'x"], /missing closing '/],
    ['an empty command', ['--exec', '  '], /missing program/],
    ['--shell without --exec', ['--echo', '--shell'], /--shell needs --exec/],
    ['two agents', ['./x.js', '--exec', 'cat'], /exclude each other/],
  ])('rejects %s: exit 2', async (_, args, message) => {
    const { code, stdout, stderr } = await runCommand(['serve', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

function pidsIn(path: string): number[] | undefined {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return text.endsWith('\n') ? text.trim().split(' ').map(Number) : undefined
}
