/**
 * Any program as an agent. Each turn starts it: the text of the message is its stdin, its stdout is the answer
 * as it comes. Exit code 0 completes the task; anything else fails it, and what the program said about that on
 * stderr goes to the log, never to the caller.
 *
 * A program runs in a process group of its own, so that whatever it started ends with it: when it exits, when
 * the task is cancelled, when a limit is passed, when this process ends.
 *
 * A limited number of programs run at once. Further turns wait for a slot; when the queue is full, the call is refused.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { basename } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Log } from '../engine/index.js'
import { A2AError, type Agent, agent, failed, type Turn, working, type Yield } from '../index.js'
import { ProcessSlots, type SlotLimits } from './process-slots.js'
import { splitCommand } from './split-command.js'
import { UsageError } from './usage-error.js'

export interface ExecOptions {
  /** Default: what the program is called. */
  readonly name?: string
  /** Let `sh` read the command: pipes, variables, patterns. */
  readonly shell?: boolean
  /** Of one turn; 0 is none. */
  readonly timeoutMs: number
  /** What one turn may write. */
  readonly maxBytes: number
  /** Limits of running programs and of turns that wait for one to end. */
  readonly slots: SlotLimits
  /** Between SIGTERM and SIGKILL. Default 4 s: less than the engine waits for a cancelled turn. */
  readonly killGraceMs?: number
  readonly log?: Log
}

type Program = ChildProcessByStdio<Writable, Readable, Readable>

/** Ends a turn early; the text is for the caller. */
class LimitError extends Error {}

export function execAgent(command: string, options: ExecOptions): Agent {
  const [file, ...args] = options.shell ? ['/bin/sh', '-c', command] : splitCommand(command)
  if (file === undefined) throw new UsageError('--exec: name a program')
  const title = options.name ?? basename(options.shell ? (splitCommand(command)[0] ?? 'sh') : file)
  const running = new Set<Program>()
  // Whatever ends this process, short of SIGKILL, ends them too.
  process.on('exit', () => {
    for (const program of running) signalGroup(program, 'SIGKILL')
  })
  const start = (turn: Turn) => {
    const { task, contextId } = turn
    const env = { ...process.env, DRAGOMAN_TASK_ID: task.id, DRAGOMAN_CONTEXT_ID: contextId }
    const program = spawn(file, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    running.add(program)
    program.once('close', () => running.delete(program))
    return program
  }
  const card = {
    name: title,
    description: `Runs ${title}: the text of a message is its input, what it prints is the answer`,
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  }
  const slots = new ProcessSlots(options.slots)
  return agent(card, (turn: Turn) => runInSlot(slots, turn, () => run(turn, title, start, options)))
}

async function* runInSlot(
  slots: ProcessSlots,
  { signal }: Turn,
  work: () => AsyncGenerator<Yield, void, void>,
): AsyncGenerator<Yield, void, void> {
  // Before `working` is stored: turns that arrive at the same time must not pass the limit.
  const slot = slots.take(signal)
  if (!slot) {
    const metadata = { limit: 'execQueue' }
    throw new A2AError('UNAVAILABLE', 'Too many programs are running, try again later', {
      metadata,
      retryAfterSeconds: 1,
    })
  }
  try {
    yield working()
    if (await slot) yield* work()
  } finally {
    // Not awaited: the turn may have ended while it waits for its slot.
    void slot.then((hasSlot) => hasSlot && slots.release())
  }
}

async function* run(
  turn: Turn,
  title: string,
  start: (turn: Turn) => Program,
  options: ExecOptions,
): AsyncGenerator<Yield, void, void> {
  const { signal } = turn
  const program = start(turn)
  const ended = endOf(program)
  const lastWords = lastLineOf(program.stderr)
  const stopping = createStopper(program, options)
  signal.addEventListener('abort', stopping.stop)
  if (signal.aborted) stopping.stop()
  try {
    // A program need not read what it is sent.
    program.stdin.on('error', () => undefined)
    program.stdin.end(turn.text)
    yield* output(program, stopping, options.maxBytes)
    const end = await ended
    if (signal.aborted || end === '') return
    options.log?.({ level: 'warn', agent: title, taskId: turn.task.id, message: spoken(title, end, lastWords()) })
    yield failed('The program behind this agent failed')
  } catch (error) {
    if (!(error instanceof LimitError)) throw error
    options.log?.({ level: 'warn', agent: title, taskId: turn.task.id, message: `${title}: ${error.message}` })
    yield failed(error.message)
  } finally {
    signal.removeEventListener('abort', stopping.stop)
    stopping.stop()
    await ended
    stopping.done()
  }
}

/** What it prints; nobody reads faster than the chunks are taken, so a fast program waits for a slow store. */
async function* output(program: Program, stopping: Stopper, maxBytes: number): AsyncGenerator<string, void, void> {
  let bytes = 0
  // Decoded by the stream: a character whose bytes came in two pieces stays one.
  for await (const chunk of program.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    bytes += Buffer.byteLength(chunk)
    if (bytes > maxBytes) throw new LimitError(`The program wrote more than the ${maxBytes} bytes that are allowed`)
    yield chunk
  }
  if (stopping.isLate) throw new LimitError('The program took longer than it may')
}

interface Stopper {
  readonly isLate: boolean
  stop(): void
  done(): void
}

/** SIGTERM first, SIGKILL when that was not enough; the time limit does the same. */
function createStopper(program: Program, { timeoutMs, killGraceMs = 4_000 }: ExecOptions): Stopper {
  let isLate = false
  let killTimer: NodeJS.Timeout | undefined
  const stop = () => {
    if (killTimer || hasExited(program)) return
    signalGroup(program, 'SIGTERM')
    killTimer = setTimeout(() => signalGroup(program, 'SIGKILL'), killGraceMs)
  }
  const lateTimer =
    timeoutMs > 0
      ? setTimeout(() => {
          isLate = true
          stop()
        }, timeoutMs)
      : undefined
  // What it started and left behind would hold its stdout open.
  program.once('exit', () => signalGroup(program, 'SIGKILL'))
  return {
    get isLate() {
      return isLate
    },
    stop,
    done() {
      clearTimeout(killTimer)
      clearTimeout(lateTimer)
    },
  }
}

function hasExited({ exitCode, signalCode, pid }: Program): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}

/** The group is led by the program, so it has its number; on Windows there are no groups. */
function signalGroup(program: Program, signal: NodeJS.Signals): void {
  if (program.pid === undefined) return
  try {
    if (process.platform === 'win32') program.kill(signal)
    else process.kill(-program.pid, signal)
  } catch {
    // It is gone already.
  }
}

/** How it ended, when all it wrote was read: nothing for success. */
function endOf(program: Program): Promise<string> {
  return new Promise((resolve) => {
    program.once('error', (error) => resolve(`could not be started: ${error.message}`))
    program.once('close', (code, signal) => {
      if (code === 0) resolve('')
      else resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`)
    })
  })
}

const longestLine = 500

/** The last line that is not blank, without keeping what came before. */
function lastLineOf(stderr: Readable): () => string {
  let tail = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).trimEnd().split('\n').at(-1)?.slice(-longestLine) ?? ''
    if (text.endsWith('\n')) tail += '\n'
  })
  return () => tail.trim()
}

function spoken(title: string, end: string, lastWords: string): string {
  return lastWords === '' ? `${title} ${end}` : `${title} ${end}: ${lastWords}`
}
