/** Conversations, side by side. They outlive the screen that shows them, and their tasks outlive the tab. */
import { isInterrupted, isTerminal, type Message, type Part, type StreamItem, type Task } from 'dragoman/client'
import type { Link, Speech } from '../link/link.js'
import {
  forgetConversation,
  type KeptConversation,
  type KeptEntry,
  keepConversation,
  keptConversations,
} from './kept-conversations.js'
import { Signal } from './signal.js'
import { TaskView } from './task-view.js'

export type Entry =
  /** Kept is what was said here: no credentials, and nothing that the agent had to tell. */
  | { readonly kind: 'said'; readonly message: Message; readonly isKept: boolean }
  | { readonly kind: 'task'; readonly view: TaskView }
  | { readonly kind: 'answer'; readonly message: Message }
  | { readonly kind: 'problem'; readonly text: string; readonly taskId: string | undefined }

const resumeMs = 3000

export class Conversation {
  readonly signal = new Signal()
  readonly id: string
  readonly ref: string
  readonly begunAt: number
  speech: Speech
  contextId: string | undefined
  entries: Entry[] = []
  /** The stream that is being read. */
  running: AbortController | undefined
  /** The agent is away; it is asked again by itself. */
  isWaiting = false
  /** Tasks of which the agent told what was said. */
  readonly #recalled = new Set<string>()
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
  }

  get tasks(): TaskView[] {
    return this.entries.flatMap((entry) => (entry.kind === 'task' ? [entry.view] : []))
  }

  get lastTask(): TaskView | undefined {
    return this.tasks.at(-1)
  }

  /** The task whose question is open. */
  get question(): TaskView | undefined {
    const last = this.lastTask
    // Whoever asks for a credential may get it another way: its stream goes on.
    const isAsking = last?.state === 'TASK_STATE_AUTH_REQUIRED' || !this.running
    return last?.state && isInterrupted(last.state) && isAsking ? last : undefined
  }

  speak(speech: Speech): void {
    this.speech = speech
    this.#changed()
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
    this.#drop('problem')
    const isSecret = question?.state === 'TASK_STATE_AUTH_REQUIRED'
    const isRecalled = question !== undefined && this.#recalled.has(question.id)
    this.entries.push({ kind: 'said', message, isKept: !isSecret && !isRecalled })
    const view = question ?? new TaskView()
    if (question) this.running?.abort()
    if (question) this.entries = [...this.entries.filter((entry) => !isOf(entry, question)), { kind: 'task', view }]
    await this.#follow(view, async (signal) => {
      const client = await this.#link.client(this.ref, this.speech)
      return client.sendStreamingMessage({ message }, { signal })
    })
  }

  /** Goes on reading a task behind what is known of it. */
  async resume(taskId: string): Promise<void> {
    const view = this.tasks.find(({ id }) => id === taskId) ?? new TaskView()
    this.#drop('problem')
    await this.#follow(view, async (signal) => {
      const client = await this.#link.client(this.ref, this.speech)
      const task = await client.getTask({ id: taskId })
      const isOver = isTerminal(task.status.state) || isInterrupted(task.status.state)
      this.#recall(view, task)
      if (isOver || view.events.length === 0) this.#take(view, { task }, undefined)
      if (isOver) return none()
      const resumeAfter = view.lastSeq
      return client.subscribeToTask({ id: taskId }, { signal, ...(resumeAfter !== undefined && { resumeAfter }) })
    })
  }

  async cancel(): Promise<void> {
    const view = this.lastTask
    if (!view?.id) {
      this.running?.abort()
      return
    }
    try {
      const client = await this.#link.client(this.ref, this.speech)
      const task = await client.cancelTask({ id: view.id })
      if (!this.running) view.apply({ task }, { at: Date.now() })
    } catch (error) {
      this.#problem(error, view.id)
    }
  }

  stop(): void {
    this.isWaiting = false
    this.running?.abort()
  }

  /** An agent that is away is not asked any more. */
  giveUp(): void {
    this.isWaiting = false
    this.#changed()
  }

  kept(): KeptConversation {
    const { id, ref, begunAt, speech, contextId } = this
    return { id, ref, begunAt, ...speech, contextId, entries: this.entries.flatMap(asKept) }
  }

  async #follow(view: TaskView, open: (signal: AbortSignal) => Promise<AsyncIterable<StreamItem>>): Promise<void> {
    const running = new AbortController()
    this.running = running
    this.isWaiting = false
    this.#changed()
    try {
      for await (const { event, seq } of await open(running.signal)) this.#take(view, event, seq)
    } catch (error) {
      if (!running.signal.aborted) this.#broken(view, error)
    } finally {
      if (this.running === running) this.running = undefined
      this.#changed()
    }
  }

  /** What led to a task, where nobody said it here. */
  #recall(view: TaskView, { id, history = [] }: Task): void {
    const known = this.entries.findIndex((entry) => isOf(entry, view))
    const place = known === -1 ? this.entries.length : known
    if (this.entries[place - 1]?.kind === 'said') return
    const said = history.filter(({ role }) => role === 'ROLE_USER')
    this.entries.splice(place, 0, ...said.map((message): Entry => ({ kind: 'said', message, isKept: false })))
    this.#recalled.add(id)
  }

  #take(view: TaskView, event: StreamItem['event'], seq: number | undefined): void {
    view.apply(event, { seq, at: Date.now() })
    this.contextId = view.contextId || view.message?.contextId || this.contextId
    if ('message' in event) this.entries.push({ kind: 'answer', message: event.message })
    else if (!this.entries.some((entry) => isOf(entry, view))) this.entries.push({ kind: 'task', view })
    else return
    this.#changed()
  }

  /** The agent may come back: what it was doing is asked for again, for as long as somebody wants to know. */
  #broken(view: TaskView, error: unknown): void {
    this.#problem(error, view.id || undefined)
    if (view.id === '' || isRefusal(error)) return
    this.isWaiting = true
    setTimeout(() => {
      if (this.isWaiting) void this.resume(view.id)
    }, resumeMs)
  }

  #problem(error: unknown, taskId: string | undefined): void {
    this.#drop('problem')
    this.entries.push({ kind: 'problem', text: error instanceof Error ? error.message : String(error), taskId })
    this.#changed()
  }

  #drop(kind: Entry['kind']): void {
    this.entries = this.entries.filter((entry) => entry.kind !== kind)
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
    for (const kept of keptConversations()) if (refs.has(kept.ref)) void resumeAll(this.#add(kept))
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

/** One after the other, in their order; only the last one can still be running. */
async function resumeAll(conversation: Conversation): Promise<void> {
  for (const { id } of conversation.tasks) await conversation.resume(id)
}

function asEntry(kept: KeptEntry): Entry {
  if ('said' in kept) return { kind: 'said', message: kept.said, isKept: true }
  if ('answer' in kept) return { kind: 'answer', message: kept.answer }
  const view = new TaskView()
  view.id = kept.task
  return { kind: 'task', view }
}

function asKept(entry: Entry): KeptEntry[] {
  if (entry.kind === 'said') return entry.isKept ? [{ said: entry.message }] : []
  if (entry.kind === 'answer') return [{ answer: entry.message }]
  return entry.kind === 'task' && entry.view.id !== '' ? [{ task: entry.view.id }] : []
}

function isOf(entry: Entry, view: TaskView): boolean {
  return entry.kind === 'task' && entry.view === view
}

/** The agent answered, and the answer is no: asking again changes nothing. */
function isRefusal(error: unknown): boolean {
  const { code, details } = error as { code?: string; details?: { metadata?: { failure?: string } } }
  const failure = details?.metadata?.failure
  return code !== undefined && failure !== 'unreachable' && failure !== 'broken-stream' && failure !== 'circuit-open'
}

async function* none(): AsyncGenerator<StreamItem, void, void> {
  // There is nothing to follow.
}
