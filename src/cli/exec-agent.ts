/**
 * Serves any program as an agent. Each turn starts the program: the text of the message is its stdin, and its stdout is
 * streamed as the answer. Exit code 0 completes the task. Any other exit code fails it; the last line of stderr goes to
 * the log, never to the caller.
 *
 * Each program runs in its own process group. The whole group is killed when the program exits, when the task is cancelled,
 * when a limit is exceeded and when this process ends.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { basename } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Log } from '../engine/index.js'
import { A2AError, type Agent, agent, failed, type Turn, working, type Yield } from '../index.js'
import { UsageError } from './failure.js'

interface ExecOptions {
  /** Default: the name of the program. */
  readonly name?: string
  /** Run the command with `sh`. */
  readonly shell?: boolean
  /** Time limit of one turn; 0: none. */
  readonly timeoutMs: number
  /** Maximum output of one turn. */
  readonly maxBytes: number
  /** Limits of running programs and of waiting turns. */
  readonly slots: SlotLimits
  /** Time between SIGTERM and SIGKILL. Default 4 s, which is less than the engine waits for a cancelled turn (E-7). */
  readonly killGraceMs?: number
  readonly log?: Log
}

type Program = ChildProcessByStdio<Writable, Readable, Readable>

/** A limit was exceeded; the caller sees the message. */
class LimitError extends Error {}

export function execAgent(command: string, options: ExecOptions): Agent {
  const [file, ...args] = options.shell ? ['/bin/sh', '-c', command] : splitCommand(command)
  if (file === undefined) throw new UsageError('--exec: missing program')
  const title = options.name ?? basename(options.shell ? (splitCommand(command)[0] ?? 'sh') : file)
  const running = new Set<Program>()
  // Covers every end of this process except SIGKILL.
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
    description: `Runs ${title}: the text of a message is its input, and its output is the answer`,
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
  // Taken before the first `await`, so that simultaneous turns cannot exceed the limit.
  const slot = slots.take(signal)
  if (!slot) {
    const metadata = { limit: 'execQueue', max: String(slots.maxWaiting) }
    throw new A2AError('UNAVAILABLE', `Too many messages wait for a program (${slots.text}), try again later`, {
      metadata,
      retryAfterSeconds: 1,
    })
  }
  try {
    yield working()
    if (await slot) yield* work()
  } finally {
    // Not awaited: the turn may have ended while it was waiting for a slot.
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
  const lastLine = lastLineOf(program.stderr)
  const stopping = createStopper(program, options)
  signal.addEventListener('abort', stopping.stop)
  if (signal.aborted) stopping.stop()
  try {
    // The program may exit without reading its input.
    program.stdin.on('error', () => undefined)
    program.stdin.end(turn.text)
    yield* output(program, stopping, options.maxBytes)
    const end = await ended
    if (signal.aborted || end === '') return
    options.log?.({ level: 'warn', agent: title, taskId: turn.task.id, message: failureText(title, end, lastLine()) })
    yield failed('The program of this agent failed')
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

/** Streams stdout. The consumer sets the pace: a fast program waits for a slow store. */
async function* output(program: Program, stopping: Stopper, maxBytes: number): AsyncGenerator<string, void, void> {
  let bytes = 0
  // The stream decodes, because a chunk may end within a character.
  for await (const chunk of program.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    bytes += Buffer.byteLength(chunk)
    if (bytes > maxBytes) throw new LimitError(`The program wrote more than ${maxBytes} bytes`)
    yield chunk
  }
  if (stopping.isLate) throw new LimitError('The program exceeded its time limit')
}

interface Stopper {
  readonly isLate: boolean
  stop(): void
  done(): void
}

/** Sends SIGTERM and, after the grace period, SIGKILL. The time limit does the same. */
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
  // Child processes that it left behind would keep its stdout open.
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

/** The program leads its process group, so the group has its pid. Windows has no process groups. */
function signalGroup(program: Program, signal: NodeJS.Signals): void {
  if (program.pid === undefined) return
  try {
    if (process.platform === 'win32') program.kill(signal)
    else process.kill(-program.pid, signal)
  } catch {
    // The group has exited already.
  }
}

/** Resolves when the program has exited and its output was read: to its failure, or to an empty string. */
function endOf(program: Program): Promise<string> {
  return new Promise((resolve) => {
    program.once('error', (error) => resolve(`could not be started: ${error.message}`))
    program.once('close', (code, signal) => {
      if (code === 0) resolve('')
      else resolve(signal ? `was killed by ${signal}` : `ended with exit code ${code}`)
    })
  })
}

const maxLineLength = 500

/** Keeps only the last line that is not blank. */
function lastLineOf(stderr: Readable): () => string {
  let tail = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).trimEnd().split('\n').at(-1)?.slice(-maxLineLength) ?? ''
    if (text.endsWith('\n')) tail += '\n'
  })
  return () => tail.trim()
}

function failureText(title: string, end: string, lastLine: string): string {
  return lastLine === '' ? `${title} ${end}` : `${title} ${end}: ${lastLine}`
}

interface SlotLimits {
  /** Programs that run at once. */
  readonly running: number
  /** Turns that wait for a slot. */
  readonly waiting: number
}

/** Limits how many programs run at once; further turns wait in a bounded queue, in order of arrival. */
class ProcessSlots {
  readonly #limits: SlotLimits
  /** Each entry hands its slot to one waiting turn. */
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  get maxWaiting(): number {
    return this.#limits.waiting
  }

  /** The values of the limits, for error messages. */
  get text(): string {
    const { running, waiting } = this.#limits
    return `limit execQueue: ${waiting}, beside ${running} running`
  }

  /**
   * Takes a slot, or a place in the queue; undefined if neither is free. Resolves to `true` with a slot, which `release`
   * gives back, or to `false` when `signal` fires first.
   */
  take(signal: AbortSignal): Promise<boolean> | undefined {
    if (signal.aborted) return Promise.resolve(false)
    if (this.#running < this.#limits.running) {
      this.#running += 1
      return Promise.resolve(true)
    }
    if (this.#waiting.size >= this.#limits.waiting) return undefined
    return new Promise((resolve) => {
      const settle = (hasSlot: boolean) => {
        this.#waiting.delete(getSlot)
        signal.removeEventListener('abort', leave)
        resolve(hasSlot)
      }
      const getSlot = () => settle(true)
      const leave = () => settle(false)
      this.#waiting.add(getSlot)
      signal.addEventListener('abort', leave)
    })
  }

  release(): void {
    const [next] = this.#waiting
    if (next) next()
    else this.#running -= 1
  }
}

/** Splits a command line at blanks. Quotes and backslashes work as in a shell; nothing else is special. */
export function splitCommand(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? ''
    if (character === quote) quote = ''
    else if (quote === "'") word += character
    else if (character === '\\' && index + 1 < line.length) {
      index += 1
      word = (word ?? '') + line[index]
    } else if (quote !== '') word += character
    else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (!/\s/.test(character)) word = (word ?? '') + character
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  if (quote !== '') throw new SyntaxError(`missing closing ${quote}`)
  return word === undefined ? words : [...words, word]
}
