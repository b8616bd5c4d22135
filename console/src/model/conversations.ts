/** Conversations, side by side. They outlive the screen that shows them, and their tasks outlive the tab. */
import {
  type AgentClient,
  isInterrupted,
  isTerminal,
  type Message,
  type Part,
  type StreamItem,
  type Task,
} from 'dragoman/client'
import type { Link, Speech } from '../link/link.js'
import { hasTaskCalls } from './dialects.js'
import {
  forgetConversation,
  type KeptConversation,
  type KeptEntry,
  keepConversation,
  keptConversations,
} from './kept-conversations.js'
import { problemCode } from './problem-code.js'
import { Signal } from './signal.js'
import { TaskView } from './task-view.js'

export type Entry =
  /** Kept is what was said here: no credentials, and nothing that the agent had to tell. */
  | { readonly kind: 'said'; readonly message: Message; readonly isKept: boolean }
  /** With the way it was spoken about in: it can be asked for in no other. */
  | TaskEntry
  /** An answer that is no task, or a question of one that was answered since. */
  | { readonly kind: 'answer'; readonly message: Message; readonly isKept: boolean }
  | ProblemEntry

/** A task, and the way it is spoken about in. */
interface Spoken {
  readonly view: TaskView
  readonly speech: Speech
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
  /** What kind it is, in the page's own words. */
  readonly code: string | undefined
  /** The task that can be resumed. */
  readonly taskId: string | undefined
}

const resumeMs = 3000

export class Conversation {
  readonly signal = new Signal()
  readonly id: string
  readonly ref: string
  readonly begunAt: number
  speech: Speech
  contextId: string | undefined
  entries: Entry[] = []
  /** What is spoken where nobody chose, once the card is known. */
  #negotiated: string | undefined
  /** The streams that are being read. */
  readonly #running = new Map<TaskView, AbortController>()
  /** Tasks of agents that are away; these are asked again by themselves. */
  readonly #waiting = new Set<string>()
  /** Tasks that somebody else began: the agent tells what was said. */
  readonly #others = new Set<string>()
  readonly #link: Link
  readonly #onChange: () => void

  constructor(link: Link, kept: KeptConversation, onChange: () => void) {
    const { id, ref, begunAt, dialect, binding, contextId, entries } = kept
    this.#link = link
    this.#onChange = onChange
    this.id = id
    this.ref = ref
    this.begunAt = begunAt
    this.speech = { dialect, binding }
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

  /** Something was said, and no task has come of it yet. */
  get isSending(): boolean {
    return [...this.#running.keys()].some(({ id }) => id === '')
  }

  get canCancel(): boolean {
    const last = this.#taskEntries.at(-1)
    return last?.view.state !== undefined && !isTerminal(last.view.state) && this.canAsk(last)
  }

  /** Whether the agent can tell of a task what it told before. */
  canAsk({ speech }: Pick<TaskEntry, 'speech'>): boolean {
    return hasTaskCalls(speech.dialect ?? this.#negotiated)
  }

  isWaiting(taskId: string): boolean {
    return this.#waiting.has(taskId)
  }

  hasHeard({ messageId }: Message): boolean {
    return this.entries.some((entry) => entry.kind === 'answer' && entry.message.messageId === messageId)
  }

  /** The task whose question is open. */
  get question(): TaskView | undefined {
    const last = this.lastTask
    // Whoever asks for a credential may get it another way: its stream goes on.
    const isAsking = last?.state === 'TASK_STATE_AUTH_REQUIRED' || (last && !this.#running.has(last))
    return last?.state && isInterrupted(last.state) && isAsking ? last : undefined
  }

  speak(speech: Speech): void {
    this.speech = speech
    this.#changed()
  }

  /** The card tells what is spoken where nobody chose. */
  negotiate(dialect: string): void {
    if (this.#negotiated === dialect) return
    this.#negotiated = dialect
    // Nothing has happened that would have to be kept: another tab may have closed it since.
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
    const { speech } = this
    if (question) this.entries.push({ kind: 'task', view, speech })
    await this.#follow({ view, speech }, (client, signal) => client.sendStreamingMessage({ message }, { signal }))
  }

  /** Goes on reading a task behind what is known of it. */
  async resume(taskId: string): Promise<void> {
    const known = this.#taskEntries.find(({ view }) => view.id === taskId)
    const { view, speech } = known ?? { view: new TaskView(), speech: this.speech }
    this.#dropProblem(taskId)
    await this.#follow({ view, speech }, async (client, signal) => {
      const task = await client.getTask({ id: taskId })
      const isOver = isTerminal(task.status.state) || isInterrupted(task.status.state)
      this.#recall(view, task)
      if (isOver || view.events.length === 0) this.#take({ view, speech }, { task }, undefined)
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
    const { view, speech } = last
    try {
      const client = await this.#link.client(this.ref, speech)
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

  /** An agent that is away is not asked any more. */
  giveUp(taskId: string): void {
    this.#waiting.delete(taskId)
    this.#changed()
  }

  kept(): KeptConversation {
    const { id, ref, begunAt, speech, contextId } = this
    return { id, ref, begunAt, ...speech, contextId, entries: this.entries.flatMap((entry) => this.#asKept(entry)) }
  }

  /** What of an entry outlives the tab. */
  #asKept(entry: Entry): KeptEntry[] {
    if (entry.kind === 'said') return entry.isKept ? [{ said: entry.message }] : []
    if (entry.kind === 'answer') return entry.isKept ? [{ answer: entry.message }] : []
    // Of one that has a task the agent is asked again.
    if (entry.kind === 'problem') return entry.taskId === undefined ? [{ problem: entry.text, code: entry.code }] : []
    const { view, speech } = entry
    if (view.id === '') return []
    const isOthers = this.#others.has(view.id)
    const kept = { task: view.id, ...speech, ...(isOthers && { isOthers }) }
    if (this.canAsk(entry)) return [kept]
    // Its dialect is known now; after a reload the card may not be.
    const told = view.asTask()
    return [{ ...kept, dialect: speech.dialect ?? this.#negotiated, ...(told && { told }) }]
  }

  /** Its question stays where it was asked; what comes of the answer stands below that. */
  #answered(question: TaskView, isKept: boolean): void {
    this.#running.get(question)?.abort()
    const asked = question.status?.message
    this.entries = this.entries.flatMap((entry): Entry[] => {
      if (!isOf(entry, question)) return [entry]
      return asked ? [{ kind: 'answer', message: asked, isKept }] : []
    })
  }

  async #follow(spoken: Spoken, open: Opening): Promise<void> {
    const { view, speech } = spoken
    const running = new AbortController()
    this.#running.get(view)?.abort()
    this.#running.set(view, running)
    this.#waiting.delete(view.id)
    this.#changed()
    try {
      const client = await this.#link.client(this.ref, speech)
      for await (const { event, seq } of await open(client, running.signal)) this.#take(spoken, event, seq)
    } catch (error) {
      if (!running.signal.aborted) this.#broken(view, error)
    } finally {
      if (this.#running.get(view) === running) this.#running.delete(view)
      this.#changed()
    }
  }

  /** What led to a task, where nobody said it here. */
  #recall(view: TaskView, { id, status, history = [] }: Task): void {
    const known = this.entries.findIndex((entry) => isOf(entry, view))
    const place = known === -1 ? this.entries.length : known
    if (known === -1) this.#others.add(id)
    if (!this.#others.has(id) || view.events.length > 0) return
    // Its last words are shown with the task itself.
    const before = history.filter(({ messageId }) => messageId !== status.message?.messageId)
    const told = before.map(
      (message): Entry => ({ kind: message.role === 'ROLE_USER' ? 'said' : 'answer', message, isKept: false }),
    )
    this.entries.splice(place, 0, ...told)
  }

  #take({ view, speech }: Spoken, event: StreamItem['event'], seq: number | undefined): void {
    view.apply(event, { seq, at: Date.now() })
    this.contextId = view.contextId || view.message?.contextId || this.contextId
    if ('message' in event) this.entries.push({ kind: 'answer', message: event.message, isKept: true })
    else if (!this.entries.some((entry) => isOf(entry, view))) this.entries.push({ kind: 'task', view, speech })
    else return
    this.#changed()
  }

  /** The agent may come back: what it was doing is asked for again, for as long as somebody wants to know. */
  #broken(view: TaskView, error: unknown): void {
    this.#problem(error, view)
    const { id } = view
    if (!this.#canResume(view) || isRefusal(error)) return
    this.#waiting.add(id)
    setTimeout(() => {
      if (this.#waiting.has(id)) void this.resume(id)
    }, resumeMs)
  }

  /** Stands behind the task it happened to, until that goes on. */
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
  readonly #link: Link
  readonly #open = new Map<string, Conversation>()

  constructor(link: Link) {
    this.#link = link
  }

  list(): Conversation[] {
    return [...this.#open.values()]
  }

  begin(ref: string, speech: Speech = {}): Conversation {
    const id = crypto.randomUUID().slice(0, 8)
    return this.#add({ id, ref, begunAt: Date.now(), ...speech, contextId: undefined, entries: [] })
  }

  close(id: string): void {
    this.#open.get(id)?.stop()
    this.#open.delete(id)
    forgetConversation(id)
    this.signal.changed()
  }

  /** What was open when the tab was closed, as far as its agents are still known. */
  restore(refs: ReadonlySet<string>): void {
    if (this.#open.size > 0) return
    for (const kept of keptConversations()) if (refs.has(kept.ref)) resumeAll(this.#add(kept))
  }

  #add(kept: KeptConversation): Conversation {
    const conversation = new Conversation(this.#link, kept, () => this.#keep(conversation))
    this.#open.set(kept.id, conversation)
    this.signal.changed()
    return conversation
  }

  #keep(conversation: Conversation): void {
    // One that was closed may still end what it had begun.
    if (this.#open.get(conversation.id) === conversation) keepConversation(conversation.kept())
    this.signal.changed()
  }
}

/** All at once: each has its place already, and any of them may still be running. */
function resumeAll(conversation: Conversation): void {
  for (const entry of conversation.entries)
    if (entry.kind === 'task' && entry.view.state === undefined) void conversation.resume(entry.view.id)
}

function asEntry(kept: KeptEntry): Entry {
  if ('said' in kept) return { kind: 'said', message: kept.said, isKept: true }
  if ('answer' in kept) return { kind: 'answer', message: kept.answer, isKept: true }
  if ('problem' in kept) return { kind: 'problem', text: kept.problem, code: kept.code, taskId: undefined }
  const { task, told, dialect, binding } = kept
  const view = new TaskView()
  view.id = task
  if (told) view.fold({ task: told })
  return { kind: 'task', view, speech: { dialect, binding } }
}

function isOf(entry: Entry, view: TaskView): boolean {
  return entry.kind === 'task' && entry.view === view
}

/** The agent answered, and the answer is no: asking again changes nothing. */
function isRefusal(error: unknown): boolean {
  const code = problemCode(error)
  return code !== undefined && code !== 'unreachable' && code !== 'broken-stream' && code !== 'circuit-open'
}

async function* none(): AsyncGenerator<StreamItem, void, void> {
  // There is nothing to follow.
}
