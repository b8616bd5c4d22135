/** Conversations of the page. They continue while other screens are shown; their tasks survive the tab. */
import {
  type AgentClient,
  isInterrupted,
  isTerminal,
  type Message,
  type Part,
  type StreamItem,
  type Task,
} from 'dragoman/client'
import type { ConsoleContext, Protocol } from '../server/console-context.js'
import { hasTaskCalls } from './dialects.js'
import { problemCode } from './problem-code.js'
import { Signal } from './signal.js'
import {
  deleteConversation,
  type StoredConversation,
  type StoredEntry,
  storeConversation,
  storedConversations,
} from './stored-conversations.js'
import { TaskView } from './task-view.js'

export type Entry =
  /** `isKept`: stored in the browser. False for credentials and for messages that came from the agent. */
  | { readonly kind: 'said'; readonly message: Message; readonly isKept: boolean }
  /** Has the protocol of the task, because the task can be read only with that protocol. */
  | TaskEntry
  /** An answer without a task, or an answered question of a task. */
  | { readonly kind: 'answer'; readonly message: Message; readonly isKept: boolean }
  | ProblemEntry

/** A task and the protocol of its calls. */
interface Spoken {
  readonly view: TaskView
  readonly protocol: Protocol
}

interface TaskEntry extends Spoken {
  readonly kind: 'task'
}

type Opening = (
  client: AgentClient,
  signal: AbortSignal,
) => AsyncIterable<StreamItem> | Promise<AsyncIterable<StreamItem>>

export interface ProblemEntry {
  readonly kind: 'problem'
  readonly text: string
  /** The kind of error. */
  readonly code: string | undefined
  /** The task that can be resumed, if any. */
  readonly taskId: string | undefined
}

const resumeMs = 3000

export class Conversation {
  readonly signal = new Signal()
  readonly id: string
  readonly ref: string
  readonly begunAt: number
  protocol: Protocol
  contextId: string | undefined
  entries: Entry[] = []
  /** The negotiated dialect, once the card is loaded. */
  #negotiated: string | undefined
  /** The open streams. */
  readonly #running = new Map<TaskView, AbortController>()
  /** Tasks of agents that do not answer; the page retries them. */
  readonly #waiting = new Set<string>()
  /** Tasks that were started elsewhere; their messages come from the agent. */
  readonly #others = new Set<string>()
  readonly #context: ConsoleContext
  readonly #onChange: () => void

  constructor(context: ConsoleContext, kept: StoredConversation, onChange: () => void) {
    const { id, ref, begunAt, dialect, binding, contextId, entries } = kept
    this.#context = context
    this.#onChange = onChange
    this.id = id
    this.ref = ref
    this.begunAt = begunAt
    this.protocol = { dialect, binding }
    this.contextId = contextId
    this.entries = entries.map(asEntry)
    for (const kept of entries) if ('task' in kept && kept.isOthers) this.#others.add(kept.task)
  }

  get tasks(): TaskView[] {
    return this.#taskEntries.map(({ view }) => view)
  }

  get lastTask(): TaskView | undefined {
    return this.tasks.at(-1)
  }

  get #taskEntries(): TaskEntry[] {
    return this.entries.filter((entry) => entry.kind === 'task')
  }

  /** Whether a message was sent that has no task yet. */
  get isSending(): boolean {
    return [...this.#running.keys()].some(({ id }) => id === '')
  }

  get canCancel(): boolean {
    const last = this.#taskEntries.at(-1)
    return last?.view.state !== undefined && !isTerminal(last.view.state) && this.canAsk(last)
  }

  /** Whether the task can be read again. */
  canAsk({ protocol }: Pick<TaskEntry, 'protocol'>): boolean {
    return hasTaskCalls(protocol.dialect ?? this.#negotiated)
  }

  isWaiting(taskId: string): boolean {
    return this.#waiting.has(taskId)
  }

  hasHeard({ messageId }: Message): boolean {
    return this.entries.some((entry) => entry.kind === 'answer' && entry.message.messageId === messageId)
  }

  /** The task with an open question. */
  get question(): TaskView | undefined {
    const last = this.lastTask
    // A credential may arrive out of band, so the stream stays open.
    const isAsking = last?.state === 'TASK_STATE_AUTH_REQUIRED' || (last && !this.#running.has(last))
    return last?.state && isInterrupted(last.state) && isAsking ? last : undefined
  }

  speak(protocol: Protocol): void {
    this.protocol = protocol
    this.#changed()
  }

  /** Sets the dialect that the card negotiates. */
  negotiate(dialect: string): void {
    if (this.#negotiated === dialect) return
    this.#negotiated = dialect
    // Do not store the conversation: another tab may have closed it.
    this.signal.changed()
  }

  async say(parts: readonly Part[]): Promise<void> {
    const question = this.question
    const message: Message = {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts,
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(question && { taskId: question.id }),
    }
    const isSecret = question?.state === 'TASK_STATE_AUTH_REQUIRED'
    const isOthers = question !== undefined && this.#others.has(question.id)
    const view = question ?? new TaskView()
    if (question) this.#answered(question, !isOthers)
    this.entries.push({ kind: 'said', message, isKept: !isSecret && !isOthers })
    const { protocol } = this
    if (question) this.entries.push({ kind: 'task', view, protocol })
    await this.#follow({ view, protocol }, (client, signal) => client.sendStreamingMessage({ message }, { signal }))
  }

  /** Continues to read a task after its last known event. */
  async resume(taskId: string): Promise<void> {
    const known = this.#taskEntries.find(({ view }) => view.id === taskId)
    const { view, protocol } = known ?? { view: new TaskView(), protocol: this.protocol }
    this.#dropProblem(taskId)
    await this.#follow({ view, protocol }, async (client, signal) => {
      const task = await client.getTask({ id: taskId })
      const isOver = isTerminal(task.status.state) || isInterrupted(task.status.state)
      this.#recall(view, task)
      if (isOver || view.events.length === 0) this.#take({ view, protocol }, { task }, undefined)
      if (isOver) return none()
      const resumeAfter = view.lastSeq
      return client.subscribeToTask({ id: taskId }, { signal, ...(resumeAfter !== undefined && { resumeAfter }) })
    })
  }

  async cancel(): Promise<void> {
    const last = this.#taskEntries.at(-1)
    if (!last || this.isSending) {
      for (const [view, running] of this.#running) if (view.id === '') running.abort()
      return
    }
    const { view, protocol } = last
    try {
      const client = await this.#context.client(this.ref, protocol)
      const task = await client.cancelTask({ id: view.id })
      if (!this.#running.has(view)) view.apply({ task }, { at: Date.now() })
      this.#changed()
    } catch (error) {
      this.#problem(error, view)
    }
  }

  stop(): void {
    this.#waiting.clear()
    for (const running of this.#running.values()) running.abort()
  }

  /** Stops retrying the task. */
  giveUp(taskId: string): void {
    this.#waiting.delete(taskId)
    this.#changed()
  }

  kept(): StoredConversation {
    const { id, ref, begunAt, protocol, contextId } = this
    return { id, ref, begunAt, ...protocol, contextId, entries: this.entries.flatMap((entry) => this.#asKept(entry)) }
  }

  /** The stored form of an entry. */
  #asKept(entry: Entry): StoredEntry[] {
    if (entry.kind === 'said') return entry.isKept ? [{ said: entry.message }] : []
    if (entry.kind === 'answer') return entry.isKept ? [{ answer: entry.message }] : []
    // A problem of a task is found again by resuming the task.
    if (entry.kind === 'problem') return entry.taskId === undefined ? [{ problem: entry.text, code: entry.code }] : []
    const { view, protocol } = entry
    if (view.id === '') return []
    const isOthers = this.#others.has(view.id)
    const kept = { task: view.id, ...protocol, ...(isOthers && { isOthers }) }
    if (this.canAsk(entry)) return [kept]
    // Store the negotiated dialect, because the card may be unavailable after a reload.
    const told = view.asTask()
    return [{ ...kept, dialect: protocol.dialect ?? this.#negotiated, ...(told && { told }) }]
  }

  /** Moves the question to an entry of its own; the task continues below it. */
  #answered(question: TaskView, isKept: boolean): void {
    this.#running.get(question)?.abort()
    const asked = question.status?.message
    this.entries = this.entries.flatMap((entry): Entry[] => {
      if (!isOf(entry, question)) return [entry]
      return asked ? [{ kind: 'answer', message: asked, isKept }] : []
    })
  }

  async #follow(spoken: Spoken, open: Opening): Promise<void> {
    const { view, protocol } = spoken
    const running = new AbortController()
    this.#running.get(view)?.abort()
    this.#running.set(view, running)
    this.#waiting.delete(view.id)
    this.#changed()
    try {
      const client = await this.#context.client(this.ref, protocol)
      for await (const { event, seq } of await open(client, running.signal)) this.#take(spoken, event, seq)
    } catch (error) {
      if (!running.signal.aborted) this.#broken(view, error)
    } finally {
      if (this.#running.get(view) === running) this.#running.delete(view)
      this.#changed()
    }
  }

  /** Adds the messages of a task that was started elsewhere. */
  #recall(view: TaskView, { id, status, history = [] }: Task): void {
    const known = this.entries.findIndex((entry) => isOf(entry, view))
    const place = known === -1 ? this.entries.length : known
    if (known === -1) this.#others.add(id)
    if (!this.#others.has(id) || view.events.length > 0) return
    // The task itself shows its final message.
    const before = history.filter(({ messageId }) => messageId !== status.message?.messageId)
    const told = before.map(
      (message): Entry => ({ kind: message.role === 'ROLE_USER' ? 'said' : 'answer', message, isKept: false }),
    )
    this.entries.splice(place, 0, ...told)
  }

  #take({ view, protocol }: Spoken, event: StreamItem['event'], seq: number | undefined): void {
    view.apply(event, { seq, at: Date.now() })
    this.contextId = view.contextId || view.message?.contextId || this.contextId
    if ('message' in event) this.entries.push({ kind: 'answer', message: event.message, isKept: true })
    else if (!this.entries.some((entry) => isOf(entry, view))) this.entries.push({ kind: 'task', view, protocol })
    else return
    this.#changed()
  }

  /** Retries the task until the user stops it, because the agent may return. */
  #broken(view: TaskView, error: unknown): void {
    this.#problem(error, view)
    const { id } = view
    if (!this.#canResume(view) || isRefusal(error)) return
    this.#waiting.add(id)
    setTimeout(() => {
      if (this.#waiting.has(id)) void this.resume(id)
    }, resumeMs)
  }

  /** Shows the error after its task until the task continues. */
  #problem(error: unknown, view: TaskView): void {
    const taskId = this.#canResume(view) ? view.id : undefined
    if (taskId !== undefined) this.#dropProblem(taskId)
    const problem: ProblemEntry = {
      kind: 'problem',
      text: error instanceof Error ? error.message : String(error),
      code: problemCode(error),
      taskId,
    }
    const place = this.entries.findIndex((entry) => isOf(entry, view))
    this.entries.splice(place === -1 ? this.entries.length : place + 1, 0, problem)
    this.#changed()
  }

  #canResume(view: TaskView): boolean {
    return view.id !== '' && this.canAsk(this.#taskEntries.find((entry) => entry.view === view) ?? this)
  }

  #dropProblem(taskId: string): void {
    this.entries = this.entries.filter((entry) => entry.kind !== 'problem' || entry.taskId !== taskId)
  }

  #changed(): void {
    this.signal.changed()
    this.#onChange()
  }
}

export class Conversations {
  readonly signal = new Signal()
  readonly #context: ConsoleContext
  readonly #open = new Map<string, Conversation>()

  constructor(context: ConsoleContext) {
    this.#context = context
  }

  list(): Conversation[] {
    return [...this.#open.values()]
  }

  begin(ref: string, protocol: Protocol = {}): Conversation {
    const id = crypto.randomUUID().slice(0, 8)
    return this.#add({ id, ref, begunAt: Date.now(), ...protocol, contextId: undefined, entries: [] })
  }

  close(id: string): void {
    this.#open.get(id)?.stop()
    this.#open.delete(id)
    deleteConversation(id)
    this.signal.changed()
  }

  /** Opens the stored conversations of known agents. */
  restore(refs: ReadonlySet<string>): void {
    if (this.#open.size > 0) return
    for (const kept of storedConversations()) if (refs.has(kept.ref)) resumeAll(this.#add(kept))
  }

  #add(kept: StoredConversation): Conversation {
    const conversation = new Conversation(this.#context, kept, () => this.#keep(conversation))
    this.#open.set(kept.id, conversation)
    this.signal.changed()
    return conversation
  }

  #keep(conversation: Conversation): void {
    // A closed conversation may still receive events.
    if (this.#open.get(conversation.id) === conversation) storeConversation(conversation.kept())
    this.signal.changed()
  }
}

/** Resumes all tasks concurrently; their entries already exist. */
function resumeAll(conversation: Conversation): void {
  for (const entry of conversation.entries)
    if (entry.kind === 'task' && entry.view.state === undefined) void conversation.resume(entry.view.id)
}

function asEntry(kept: StoredEntry): Entry {
  if ('said' in kept) return { kind: 'said', message: kept.said, isKept: true }
  if ('answer' in kept) return { kind: 'answer', message: kept.answer, isKept: true }
  if ('problem' in kept) return { kind: 'problem', text: kept.problem, code: kept.code, taskId: undefined }
  const { task, told, dialect, binding } = kept
  const view = new TaskView()
  view.id = task
  if (told) view.fold({ task: told })
  return { kind: 'task', view, protocol: { dialect, binding } }
}

function isOf(entry: Entry, view: TaskView): boolean {
  return entry.kind === 'task' && entry.view === view
}

/** Whether the agent answered with an error, so that a retry is useless. */
function isRefusal(error: unknown): boolean {
  const code = problemCode(error)
  return code !== undefined && code !== 'unreachable' && code !== 'broken-stream' && code !== 'circuit-open'
}

async function* none(): AsyncGenerator<StreamItem, void, void> {
  // an empty stream
}
