/** Prints the updates of a task as they arrive: artifacts to stdout, progress to stderr; with `-o json` one line each. */
import {
  A2AError,
  isInterrupted,
  isTerminal,
  type Message,
  type Part,
  type Task,
  type TaskHandle,
  TransportError,
  type Update,
} from '../client/index.js'
import { AdvisedError } from './failure.js'
import type { Output } from './output.js'
import { oneLine, shellWord } from './printable.js'
import { contentText, hasFiles, nextSteps } from './task-text.js'

export class StreamPrinter {
  /** The newest known state of the task. */
  task: Pick<Task, 'id' | 'contextId' | 'status'> | undefined
  readonly #output: Output
  readonly #agentArgs: string
  #artifactId = ''
  #hasFiles = false

  /** `agentArgs`: the agent and its options, as arguments of the next command. */
  constructor(output: Output, agentArgs: string) {
    this.#output = output
    this.#agentArgs = agentArgs
  }

  /** Prints a stream to its end. If the stream breaks, the error names the command that continues it. */
  async follow(updates: AsyncIterable<Update>): Promise<void> {
    try {
      for await (const update of updates) this.print(update)
    } catch (error) {
      this.#output.endLine()
      throw this.#canContinue(error)
        ? new AdvisedError(error, `The task may still be running: ${this.#subscribe()}`)
        : error
    }
    this.end()
  }

  print(update: Update): void {
    if (this.#output.format === 'json') this.#output.chunk(update, () => '')
    if ('message' in update) this.#printParts(update.message.parts)
    else if ('task' in update) this.#begin(update.task)
    else if ('reset' in update) {
      this.#output.note('The stream broke and missed events; the task is printed again from its start')
      this.#begin(update.reset)
    } else if ('artifactUpdate' in update) {
      const { artifact, append } = update.artifactUpdate
      this.#artifact(artifact.artifactId, artifact.parts, append === true)
    } else {
      const { taskId, contextId, status } = update.statusUpdate
      this.task = { id: taskId, contextId, status }
      this.#status(status.message)
    }
  }

  /** Prints the commands to use next. */
  end(): void {
    this.#output.endLine()
    if (!this.task) return
    for (const step of nextSteps(this.task, this.#agentArgs, this.#hasFiles)) this.#output.note(step)
  }

  #canContinue(error: unknown): boolean {
    return error instanceof TransportError && this.task !== undefined && !isTerminal(this.task.status.state)
  }

  #subscribe(): string {
    return `dragoman task subscribe ${this.#agentArgs} ${shellWord(oneLine(this.task?.id ?? ''))}`
  }

  #begin(task: Task): void {
    this.task = task
    this.#artifactId = ''
    for (const { artifactId, parts } of task.artifacts ?? []) this.#artifact(artifactId, parts, false)
    this.#status(task.status.message)
  }

  #artifact(id: string, parts: readonly Part[], isAppended: boolean): void {
    if (id !== this.#artifactId || !isAppended) this.#asText(() => this.#output.endLine())
    this.#artifactId = id
    this.#hasFiles ||= hasFiles(parts)
    this.#asText(() => this.#output.chunk(parts, () => this.#output.safe(contentText(parts))))
  }

  /** Questions and final messages are part of the answer; progress is a remark. */
  #status(message: Message | undefined): void {
    const state = this.task?.status.state
    if (!message || !state) return
    if (isTerminal(state) || isInterrupted(state)) this.#printParts(message.parts)
    else this.#output.note(contentText(message.parts).trimEnd())
  }

  #printParts(parts: readonly Part[]): void {
    const readable = parts.filter(({ mediaType }) => mediaType !== 'application/schema+json')
    this.#asText(() => this.#output.line(this.#output.safe(contentText(readable))))
  }

  /** With `-o json`, `print` has written the whole update already. */
  #asText(write: () => void): void {
    if (this.#output.format === 'text') write()
  }
}

/** Follows a task. Agents refuse subscriptions to a task that has ended; then it is read once. */
export async function* watchTask(task: TaskHandle, given: { readonly signal?: AbortSignal }): AsyncGenerator<Update> {
  try {
    yield* task.watch(given)
  } catch (error) {
    if (!(error instanceof A2AError && error.code === 'UNSUPPORTED_OPERATION')) throw error
    const now = await task.get()
    if (!isTerminal(now.status.state)) throw error
    yield { task: now }
  }
}
