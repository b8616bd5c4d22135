/** Conversations, side by side. They outlive the screen that shows them, and their tasks outlive the tab. */
import { isInterrupted, isTerminal, type Message, type Part, type StreamItem } from 'dragoman/client'
import type { Link, Speech } from '../link/link.js'
import { Signal } from './signal.js'
import { TaskView } from './task-view.js'

export type Entry =
  | { readonly kind: 'said'; readonly message: Message }
  | { readonly kind: 'task'; readonly view: TaskView }
  | { readonly kind: 'answer'; readonly message: Message }
  | { readonly kind: 'problem'; readonly text: string; readonly taskId: string | undefined }

/** What is kept in the browser: names of things, none of what was said. */
interface Kept extends Speech {
  readonly id: string
  readonly ref: string
  readonly contextId: string | undefined
  readonly taskIds: readonly string[]
}

const storageKey = 'dragoman.conversations'
const mostKept = 20
const resumeMs = 3000

export class Conversation {
  readonly signal = new Signal()
  readonly id: string
  readonly ref: string
  speech: Speech
  contextId: string | undefined
  entries: Entry[] = []
  /** The stream that is being read. */
  running: AbortController | undefined
  /** The agent is away; it is asked again by itself. */
  isWaiting = false
  readonly #link: Link
  readonly #onChange: () => void

  constructor(link: Link, { id, ref, dialect, binding, contextId }: Kept, onChange: () => void) {
    this.#link = link
    this.#onChange = onChange
    this.id = id
    this.ref = ref
    this.speech = { dialect, binding }
    this.contextId = contextId
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
    return last?.state && isInterrupted(last.state) && !this.running ? last : undefined
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
    this.entries.push({ kind: 'said', message })
    const view = question ?? new TaskView()
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
      if (view.events.length === 0) this.#recall(task.history ?? [])
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

  kept(): Kept {
    return {
      id: this.id,
      ref: this.ref,
      ...this.speech,
      contextId: this.contextId,
      taskIds: this.tasks.map(({ id }) => id).filter((id) => id !== ''),
    }
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

  /** What was said before the page knew of it. */
  #recall(history: readonly Message[]): void {
    const known = new Set(this.entries.map((entry) => (entry.kind === 'said' ? entry.message.messageId : undefined)))
    for (const message of history)
      if (message.role === 'ROLE_USER' && !known.has(message.messageId)) this.entries.push({ kind: 'said', message })
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
    return this.#add({ id: crypto.randomUUID().slice(0, 8), ref, ...speech, contextId: undefined, taskIds: [] })
  }

  close(id: string): void {
    this.#open.get(id)?.stop()
    this.#open.delete(id)
    this.#keep()
  }

  /** What was open when the tab was closed, as far as its agents are still known. */
  restore(refs: ReadonlySet<string>): void {
    if (this.#open.size > 0) return
    for (const kept of readKept()) {
      if (!refs.has(kept.ref)) continue
      const conversation = this.#add(kept)
      void resumeAll(conversation, kept.taskIds)
    }
  }

  #add(kept: Kept): Conversation {
    const conversation = new Conversation(this.#link, kept, () => this.#keep())
    this.#open.set(kept.id, conversation)
    this.signal.changed()
    return conversation
  }

  #keep(): void {
    localStorage.setItem(
      storageKey,
      JSON.stringify(
        this.list()
          .slice(-mostKept)
          .map((each) => each.kept()),
      ),
    )
    this.signal.changed()
  }
}

/** One after the other, in their order; only the last one can still be running. */
async function resumeAll(conversation: Conversation, taskIds: readonly string[]): Promise<void> {
  for (const taskId of taskIds) await conversation.resume(taskId)
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

function readKept(): readonly Kept[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(kept)
      ? kept.filter((each: Kept) => typeof each?.ref === 'string' && Array.isArray(each.taskIds))
      : []
  } catch {
    return []
  }
}
