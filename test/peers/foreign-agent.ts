/**
 * The test agent for foreign servers, as far as the scenarios need it. It writes to a small interface, because each
 * generation of the official SDK has its own objects for the same events.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** A state in the spelling of 0.x. */
export type State = 'submitted' | 'working' | 'input-required' | 'completed' | 'canceled' | 'failed' | 'rejected'

export interface AgentOutput<Part> {
  readonly text: string
  readonly parts: readonly Part[]
  /** The first text of the task, if this message continues a task. */
  readonly began: string | undefined
  readonly signal: AbortSignal
  task(state: State): void
  status(state: State, note?: string): void
  artifact(parts: readonly Part[], more?: { readonly append?: boolean; readonly lastChunk?: boolean }): void
  message(text: string): void
  textPart(text: string): Part
}

export async function runAgent<Part>(output: AgentOutput<Part>): Promise<void> {
  const { text, parts, began } = output
  const [word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text)?.slice(1) ?? []
  if (word === 'crash') throw new Error('The agent broke')
  if (word === 'msg') {
    output.message(rest)
    return
  }
  output.task(began === undefined ? 'submitted' : 'working')
  if (began !== undefined) finish(output, `${began}\n${text}`)
  else if (word === 'ask') output.status('input-required', 'What is the second text?')
  else if (word === 'fail') output.status('failed', 'Failed as asked')
  else if (word === 'dump') finish(output, JSON.stringify(parts.slice(1)))
  else if (word === 'reject') output.status('rejected', 'Rejected as asked')
  else if (word === 'chunks') await stream(output, rest)
  else if (word === 'sleep') await sleep(output, Number(rest))
  else if (text === 'mirror' || (word === 'mirror' && parts.length > 1)) {
    output.artifact(parts.slice(1))
    output.status('completed')
  } else finish(output, text)
}

function finish<Part>(output: AgentOutput<Part>, text: string): void {
  output.artifact([output.textPart(text)])
  output.status('completed')
}

async function stream<Part>(output: AgentOutput<Part>, rest: string): Promise<void> {
  const [count = 1, delayMs = 0] = rest.split(/\s+/).map(Number)
  output.status('working')
  for (let i = 1; i <= count; i++) {
    if (delayMs > 0) await pause(delayMs)
    output.artifact([output.textPart(`chunk ${i} `)], { append: i > 1, lastChunk: i === count })
  }
  output.status('completed')
}

async function sleep<Part>(output: AgentOutput<Part>, ms: number): Promise<void> {
  output.status('working')
  try {
    await pause(ms, undefined, { signal: output.signal })
    finish(output, `slept ${ms}`)
  } catch {
    output.status('canceled')
  }
}

/** Tasks that can be canceled while they run, by their id. */
export class Running {
  readonly #running = new Map<string, AbortController>()

  async run(taskId: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    this.#running.set(taskId, controller)
    try {
      await work(controller.signal)
    } finally {
      this.#running.delete(taskId)
    }
  }

  /** The handlers of the SDK read the task as soon as this returns, so it must have ended by then. */
  async cancel(taskId: string): Promise<void> {
    this.#running.get(taskId)?.abort()
    await pause(20)
  }
}
