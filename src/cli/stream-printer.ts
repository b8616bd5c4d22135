/**
 * A stream as it comes: artifacts grow on stdout, progress is told on stderr, and every element is a JSON
 * line for programs.
 */
import {
  isInterrupted,
  isTerminal,
  type Message,
  type Part,
  type Task,
  TransportError,
  type Update,
} from '../client/index.js'
import { Advised } from './failure.js'
import type { Output } from './output.js'
import { oneLine, shellWord } from './printable.js'
import { contentText, hasFiles, nextSteps } from './task-text.js'

type Known = Pick<Task, 'id' | 'contextId' | 'status'>

export class StreamPrinter {
  /** The task as far as the stream told of it. */
  task: Known | undefined
  readonly #output: Output
  readonly #named: string
  #artifactId = ''
  #hasFiles = false

  constructor(output: Output, named: string) {
    this.#output = output
    this.#named = named
  }

  /** Prints a stream to its end. One that broke for good has told how to go on. */
  async follow(updates: AsyncIterable<Update>): Promise<void> {
    try {
      for await (const update of updates) this.see(update)
    } catch (error) {
      this.#output.endLine()
      throw this.#canGoOn(error) ? new Advised(error, `The task may be running still: ${this.#subscribe()}`) : error
    }
    this.end()
  }

  see(update: Update): void {
    if (this.#output.format === 'json') this.#output.piece(update, () => '')
    if ('message' in update) this.#say(update.message.parts)
    else if ('task' in update) this.#begin(update.task)
    else if ('reset' in update) {
      this.#output.note('The stream broke and parts of it were missed: this is the task from its beginning')
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

  /** After the last element: what is left to know or to do. */
  end(): void {
    this.#output.endLine()
    if (!this.task) return
    for (const step of nextSteps(this.task, this.#named, this.#hasFiles)) this.#output.note(step)
  }

  #canGoOn(error: unknown): boolean {
    return error instanceof TransportError && this.task !== undefined && !isTerminal(this.task.status.state)
  }

  #subscribe(): string {
    return `dragoman task subscribe ${this.#named} ${shellWord(oneLine(this.task?.id ?? ''))}`
  }

  #begin(task: Task): void {
    this.task = task
    this.#artifactId = ''
    for (const { artifactId, parts } of task.artifacts ?? []) this.#artifact(artifactId, parts, false)
    this.#status(task.status.message)
  }

  #artifact(id: string, parts: readonly Part[], isMore: boolean): void {
    if (id !== this.#artifactId || !isMore) this.#print(() => this.#output.endLine())
    this.#artifactId = id
    this.#hasFiles ||= hasFiles(parts)
    this.#print(() => this.#output.piece(parts, () => this.#output.said(contentText(parts))))
  }

  /** Questions and last words belong to the answer; progress does not. */
  #status(message: Message | undefined): void {
    const state = this.task?.status.state
    if (!message || !state) return
    if (isTerminal(state) || isInterrupted(state)) this.#say(message.parts)
    else this.#output.note(contentText(message.parts).trimEnd())
  }

  #say(parts: readonly Part[]): void {
    const readable = parts.filter(({ mediaType }) => mediaType !== 'application/schema+json')
    this.#print(() => this.#output.line(this.#output.said(contentText(readable))))
  }

  /** Programs have had the element already. */
  #print(write: () => void): void {
    if (this.#output.format === 'text') write()
  }
}
