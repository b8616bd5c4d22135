/**
 * The test agent for foreign servers, as far as the scenarios need it. It writes to a small interface, because each
 * generation of the official SDK has its own objects for the same events.
 */
import { setTimeout as pause } from 'node:timers/promises'

/** As 0.x writes states. */
export type State = 'submitted' | 'working' | 'input-required' | 'completed' | 'canceled' | 'failed' | 'rejected'

export interface Stage<Part> {
  readonly text: string
  readonly parts: readonly Part[]
  /** The text that the task began with, when this message goes on with it. */
  readonly began: string | undefined
  readonly signal: AbortSignal
  task(state: State): void
  status(state: State, note?: string): void
  artifact(parts: readonly Part[], more?: { readonly append?: boolean; readonly lastChunk?: boolean }): void
  message(text: string): void
  textPart(text: string): Part
}

export async function perform<Part>(stage: Stage<Part>): Promise<void> {
  const { text, parts, began } = stage
  const [word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text)?.slice(1) ?? []
  if (word === 'crash') throw new Error('The agent broke')
  if (word === 'msg') {
    stage.message(rest)
    return
  }
  stage.task(began === undefined ? 'submitted' : 'working')
  if (began !== undefined) finish(stage, `${began}\n${text}`)
  else if (word === 'ask') stage.status('input-required', 'What is the second text?')
  else if (word === 'fail') stage.status('failed', 'Failed as asked')
  else if (word === 'dump') finish(stage, JSON.stringify(parts.slice(1)))
  else if (word === 'reject') stage.status('rejected', 'Rejected as asked')
  else if (word === 'chunks') await stream(stage, rest)
  else if (word === 'sleep') await sleep(stage, Number(rest))
  else if (text === 'mirror' || (word === 'mirror' && parts.length > 1)) {
    stage.artifact(parts.slice(1))
    stage.status('completed')
  } else finish(stage, text)
}

function finish<Part>(stage: Stage<Part>, text: string): void {
  stage.artifact([stage.textPart(text)])
  stage.status('completed')
}

async function stream<Part>(stage: Stage<Part>, rest: string): Promise<void> {
  const [count = 1, delayMs = 0] = rest.split(/\s+/).map(Number)
  stage.status('working')
  for (let i = 1; i <= count; i++) {
    if (delayMs > 0) await pause(delayMs)
    stage.artifact([stage.textPart(`chunk ${i} `)], { append: i > 1, lastChunk: i === count })
  }
  stage.status('completed')
}

async function sleep<Part>(stage: Stage<Part>, ms: number): Promise<void> {
  stage.status('working')
  try {
    await pause(ms, undefined, { signal: stage.signal })
    finish(stage, `slept ${ms}`)
  } catch {
    stage.status('canceled')
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
