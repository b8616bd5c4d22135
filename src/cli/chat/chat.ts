/**
 * A conversation, turn by turn. While a turn runs, the first Ctrl-C cancels its task and the second leaves;
 * between turns the second in a row leaves.
 */
import {
  A2AError,
  type AgentClient,
  type Conversation,
  isInterrupted,
  type MessageInput,
  schemaOf,
  type Task,
} from '../../client/index.js'
import type { Struct } from '../../model/index.js'
import { onStderr } from '../colours.js'
import type { Output } from '../output.js'
import { StreamPrinter } from '../stream-printer.js'
import { taskText } from '../task-text.js'
import { interrupted, type Lines } from './lines.js'

export interface ChatOptions {
  readonly agent: AgentClient
  readonly named: string
  readonly output: Output
  readonly lines: Lines
  /** Somebody sits in front of it: failures are told and the talk goes on. */
  readonly isTerminal: boolean
  readonly start: { readonly contextId?: string; readonly taskId?: string }
  readonly timeoutMs?: number
  /** Shows a form; absent when nobody can fill one in. */
  readonly askForm?: (schema: Struct) => Promise<MessageInput | undefined>
}

const help = `/exit    leave (Ctrl-D too)
/new     begin another conversation
/cancel  cancel the task that waits for an answer
/task    show the last task
/help    this
A line that begins with // is sent with one slash. Ctrl-C cancels a turn that runs; the second leaves.`

export async function chat(options: ChatOptions): Promise<void> {
  await new Chat(options).run()
}

class Chat {
  readonly #options: ChatOptions
  #talk: Conversation
  #last: Pick<Task, 'id' | 'status'> | undefined
  #isLeaving = false
  /** Whether the agent refused the last answer to its question, which is open still. */
  #isRefused = false

  constructor(options: ChatOptions) {
    this.#options = options
    this.#talk = options.agent.conversation(options.start)
  }

  async run(): Promise<void> {
    await this.#talkOn()
    if (this.#isRefused && !this.#options.isTerminal)
      throw new Error(`The question of task ${this.#talk.taskId} was not answered: its answers were refused`)
  }

  async #talkOn(): Promise<void> {
    const { lines } = this.#options
    let interrupts = 0
    while (!this.#isLeaving) {
      const form = await this.#form()
      if (form !== undefined) {
        await this.#turn(form)
        continue
      }
      const said = await lines.next(this.#prompt())
      if (said === undefined) return
      if (said === interrupted) {
        interrupts += 1
        if (interrupts > 1) return
        this.#options.output.note('\nCtrl-C again, or /exit, leaves')
        continue
      }
      interrupts = 0
      await this.#hear(said.trim())
    }
  }

  async #hear(said: string): Promise<void> {
    if (said === '') return
    if (said.startsWith('/') && !said.startsWith('//')) return await this.#command(said)
    await this.#turn(this.#sayOf(said.replace(/^\/\//, '/')))
  }

  async #command(said: string): Promise<void> {
    const { agent, output } = this.#options
    if (said === '/exit' || said === '/quit') this.#isLeaving = true
    else if (said === '/help') output.note(help)
    else if (said === '/new') {
      this.#talk = agent.conversation()
      this.#last = undefined
      this.#isRefused = false
      output.note('A new conversation')
    } else if (said === '/cancel') await this.#try(() => this.#cancelOpen())
    else if (said === '/task') await this.#try(() => this.#showTask())
    else output.note(`There is no ${said.split(/\s/)[0]}: /help lists what there is`)
  }

  async #cancelOpen(): Promise<void> {
    const { agent, output } = this.#options
    const { taskId, contextId } = this.#talk
    if (taskId === undefined) return output.note('No task waits for an answer')
    await agent.task(taskId).cancel()
    this.#talk = agent.conversation(contextId === undefined ? {} : { contextId })
    this.#last = undefined
    this.#isRefused = false
    output.note(`Task ${taskId} was canceled`)
  }

  async #showTask(): Promise<void> {
    const { agent, output } = this.#options
    const id = this.#talk.taskId ?? this.#last?.id
    if (id === undefined) return output.note('There is no task yet')
    const task = await agent.task(id).get()
    output.result(task, () => output.said(taskText(task)))
  }

  async #turn(say: MessageInput): Promise<void> {
    const { output, named, timeoutMs } = this.#options
    const printer = new StreamPrinter(output, named)
    const stop = new AbortController()
    const onInterrupt = this.#interrupter(printer, stop)
    this.#isRefused = false
    process.on('SIGINT', onInterrupt)
    try {
      const given = { signal: stop.signal, ...(timeoutMs !== undefined && { timeoutMs }) }
      await this.#try(async () => {
        for await (const update of this.#talk.stream(say, given)) printer.see(update)
      }, stop.signal)
    } finally {
      process.off('SIGINT', onInterrupt)
      output.endLine()
    }
    if (this.#isRefused) return
    this.#last = printer.task
    if (printer.task && !isInterrupted(printer.task.status.state)) printer.end()
  }

  #interrupter(printer: StreamPrinter, stop: AbortController): () => void {
    const { agent, output } = this.#options
    let count = 0
    return () => {
      count += 1
      if (count === 1 && printer.task) {
        output.note('\nCancelling; Ctrl-C again leaves')
        const { id } = printer.task
        agent.cancelTask({ id }, { signal: stop.signal }).catch(() => stop.abort())
        return
      }
      // Without a task there is nothing to cancel but the call.
      this.#isLeaving = count > 1
      stop.abort()
    }
  }

  /** People go on after a failure; a script ends with it, unless its next line can be the right answer. */
  async #try(work: () => Promise<void>, stopped?: AbortSignal): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (stopped?.aborted) return
      const isInvalid = error instanceof A2AError && error.code === 'INVALID_PARAMS'
      this.#isRefused = isInvalid && this.#talk.taskId !== undefined
      if (!this.#options.isTerminal && !this.#isRefused) throw error
      this.#options.output.failure(error)
    }
  }

  /** The answer to a question that came with a form, when somebody fills it in. */
  async #form(): Promise<MessageInput | undefined> {
    const { askForm, output } = this.#options
    const schema = this.#schema()
    if (!schema || !askForm) return undefined
    const answer = await askForm(schema)
    // Asked once: whoever leaves the form answers with a line.
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

  /** A form may be answered with a line of JSON. */
  #sayOf(line: string): MessageInput {
    if (!/^[[{]/.test(line) || this.#talk.taskId === undefined) return line
    try {
      return [{ data: JSON.parse(line), mediaType: 'application/json' }]
    } catch {
      return line
    }
  }

  #prompt(): string {
    return `${onStderr.bold(this.#talk.taskId === undefined ? 'you' : 'answer')} ${onStderr.dim('›')} `
  }
}
