/**
 * A chat, message by message. While a turn runs, the first Ctrl-C cancels its task and the second leaves;
 * between turns, two in a row leave.
 */
import { createInterface } from 'node:readline'
import {
  A2AError,
  type AgentClient,
  type Conversation,
  isInterrupted,
  type MessageInput,
  schemaOf,
  type Task,
} from '../client/index.js'
import type { Struct } from '../model/index.js'
import type { Output } from './output.js'
import { onStderr } from './printable.js'
import { StreamPrinter } from './stream-printer.js'
import { taskText } from './task-text.js'

interface ChatOptions {
  readonly agent: AgentClient
  /** The agent and its options, as arguments of the next command. */
  readonly agentArgs: string
  readonly output: Output
  readonly lines: Lines
  /** On a terminal, the chat continues after a failure. */
  readonly isTerminal: boolean
  readonly start: { readonly contextId?: string; readonly taskId?: string }
  readonly timeoutMs?: number
  /** Shows a form; absent without a terminal. */
  readonly askForm?: (schema: Struct) => Promise<MessageInput | undefined>
}

const help = `/exit    leave (also Ctrl-D)
/new     start another conversation
/cancel  cancel the task that waits for an answer
/task    print the last task
/help    print this list
A line that starts with // is sent with one slash. Ctrl-C cancels a running turn; the second Ctrl-C leaves.`

export async function chat(options: ChatOptions): Promise<void> {
  await new Chat(options).run()
}

class Chat {
  readonly #options: ChatOptions
  #conversation: Conversation
  #last: Pick<Task, 'id' | 'status'> | undefined
  #isLeaving = false
  /** The agent rejected the last answer, and its question is still open. */
  #isAnswerRejected = false

  constructor(options: ChatOptions) {
    this.#options = options
    this.#conversation = options.agent.conversation(options.start)
  }

  async run(): Promise<void> {
    await this.#readLines()
    if (this.#isAnswerRejected && !this.#options.isTerminal)
      throw new Error(`Task ${this.#conversation.taskId} still waits for an answer: the agent rejected all answers`)
  }

  async #readLines(): Promise<void> {
    const { lines } = this.#options
    let interrupts = 0
    while (!this.#isLeaving) {
      const form = await this.#form()
      if (form !== undefined) {
        await this.#turn(form)
        continue
      }
      const line = await lines.next(this.#prompt())
      if (line === undefined) return
      if (line === interrupted) {
        interrupts += 1
        if (interrupts > 1) return
        this.#options.output.note('\nPress Ctrl-C again, or type /exit, to leave')
        continue
      }
      interrupts = 0
      await this.#handle(line.trim())
    }
  }

  async #handle(line: string): Promise<void> {
    if (line === '') return
    if (line.startsWith('/') && !line.startsWith('//')) return await this.#command(line)
    await this.#turn(this.#inputOf(line.replace(/^\/\//, '/')))
  }

  async #command(line: string): Promise<void> {
    const { agent, output } = this.#options
    if (line === '/exit' || line === '/quit') this.#isLeaving = true
    else if (line === '/help') output.note(help)
    else if (line === '/new') {
      this.#conversation = agent.conversation()
      this.#last = undefined
      this.#isAnswerRejected = false
      output.note('Started a new conversation')
    } else if (line === '/cancel') await this.#try(() => this.#cancelOpen())
    else if (line === '/task') await this.#try(() => this.#showTask())
    else output.note(`Unknown command ${line.split(/\s/)[0]}; /help lists the commands`)
  }

  async #cancelOpen(): Promise<void> {
    const { agent, output } = this.#options
    const { taskId, contextId } = this.#conversation
    if (taskId === undefined) return output.note('No task waits for an answer')
    await agent.task(taskId).cancel()
    this.#conversation = agent.conversation(contextId === undefined ? {} : { contextId })
    this.#last = undefined
    this.#isAnswerRejected = false
    output.note(`Canceled task ${taskId}`)
  }

  async #showTask(): Promise<void> {
    const { agent, output } = this.#options
    const id = this.#conversation.taskId ?? this.#last?.id
    if (id === undefined) return output.note('There is no task yet')
    const task = await agent.task(id).get()
    output.result(task, () => output.safe(taskText(task)))
  }

  async #turn(input: MessageInput): Promise<void> {
    const { output, agentArgs, timeoutMs } = this.#options
    const printer = new StreamPrinter(output, agentArgs)
    const stop = new AbortController()
    const onInterrupt = this.#interrupter(printer, stop)
    this.#isAnswerRejected = false
    process.on('SIGINT', onInterrupt)
    try {
      const given = { signal: stop.signal, ...(timeoutMs !== undefined && { timeoutMs }) }
      await this.#try(async () => {
        for await (const update of this.#conversation.stream(input, given)) printer.print(update)
      }, stop.signal)
    } finally {
      process.off('SIGINT', onInterrupt)
      output.endLine()
    }
    if (this.#isAnswerRejected) return
    this.#last = printer.task
    if (printer.task && !isInterrupted(printer.task.status.state)) printer.end()
  }

  #interrupter(printer: StreamPrinter, stop: AbortController): () => void {
    const { agent, output } = this.#options
    let count = 0
    return () => {
      count += 1
      if (count === 1 && printer.task) {
        output.note('\nCancelling; press Ctrl-C again to leave')
        const { id } = printer.task
        agent.cancelTask({ id }, { signal: stop.signal }).catch(() => stop.abort())
        return
      }
      // Without a task, only the call can be cancelled.
      this.#isLeaving = count > 1
      stop.abort()
    }
  }

  /** A failure ends a piped chat, unless the agent rejected an answer: the next line may be a valid one. */
  async #try(work: () => Promise<void>, stopped?: AbortSignal): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (stopped?.aborted) return
      const isInvalid = error instanceof A2AError && error.code === 'INVALID_PARAMS'
      this.#isAnswerRejected = isInvalid && this.#conversation.taskId !== undefined
      if (!this.#options.isTerminal && !this.#isAnswerRejected) throw error
      this.#options.output.failure(error)
    }
  }

  /** Returns the filled-in form, if the open question has one and the user does not cancel it. */
  async #form(): Promise<MessageInput | undefined> {
    const { askForm, output } = this.#options
    const schema = this.#schema()
    if (!schema || !askForm) return undefined
    const answer = await askForm(schema)
    // The form is shown once; after that, the user answers with a line.
    if (answer === undefined) {
      this.#last = undefined
      output.note('Answer with a line of text or JSON, or /cancel the task')
    }
    return answer
  }

  #schema(): Struct | undefined {
    const status = this.#last?.status
    return status?.state === 'TASK_STATE_INPUT_REQUIRED' ? schemaOf(status.message) : undefined
  }

  /** An answer that is a line of JSON is sent as data. */
  #inputOf(line: string): MessageInput {
    if (!/^[[{]/.test(line) || this.#conversation.taskId === undefined) return line
    try {
      return [{ data: JSON.parse(line), mediaType: 'application/json' }]
    } catch {
      return line
    }
  }

  #prompt(): string {
    return `${onStderr.bold(this.#conversation.taskId === undefined ? 'you' : 'answer')} ${onStderr.dim('›')} `
  }
}

const interrupted: unique symbol = Symbol('interrupted')

/** The lines of a chat: typed on a terminal, or from a pipe. */
export interface Lines {
  /** Resolves to undefined at the end. */
  next(prompt: string): Promise<string | typeof interrupted | undefined>
  close(): void
}

/** Lines that arrive within this time are one message: the user pasted them. */
const pasteMs = 15

/** Opens a readline interface for each line; between lines, Ctrl-C is an ordinary signal. */
export function terminalLines(): Lines {
  let history: string[] = []
  return {
    next: (prompt) =>
      new Promise((resolve) => {
        const lines: string[] = []
        const reader = createInterface({
          input: process.stdin,
          output: process.stderr,
          terminal: true,
          history,
          removeHistoryDuplicates: true,
          prompt,
        })
        const done = (line: string | typeof interrupted | undefined) => {
          resolve(line)
          reader.close()
        }
        reader.on('history', (lines) => {
          history = lines
        })
        reader.on('line', (line) => {
          lines.push(line)
          if (lines.length === 1) setTimeout(() => done(lines.join('\n')), pasteMs)
        })
        reader.once('SIGINT', () => done(interrupted))
        reader.once('close', () => resolve(lines.length > 0 ? lines.join('\n') : undefined))
        reader.prompt()
      }),
    close: () => {},
  }
}

/** Each line is one message; there are no prompts. */
export function pipedLines(): Lines {
  const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
  const lines = reader[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { done, value } = await lines.next()
      return done ? undefined : value
    },
    close: () => reader.close(),
  }
}
