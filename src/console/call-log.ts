/** The calls of a session, and what went over the wire for each. In memory, and bounded. */
import type { WireEntry } from '../client/wire-log.js'
import type { Operation } from '../model/operations.js'
import type { CallSummary, CallView, WireLine } from './console-api.js'

const maxCalls = 300
const maxLogBytes = 64 * 1024 * 1024
/** Of each call the beginning is kept, and as much of its newest lines. */
const maxLines = 4000
const maxCallBytes = 8 * 1024 * 1024
const maxBodyLength = 512 * 1024
const maxErrorLength = 4096
/** A busy stream changes its summary all the time; people see this often. */
const notifyIntervalMs = 200

export interface CallTarget {
  readonly ref: string
  readonly operation: Operation
  readonly dialect: string
  readonly binding: string
  readonly url: string
}

/** Members that are absent do not matter. */
export type CallFilter = { readonly [Name in 'ref' | 'taskId' | 'contextId']?: string | undefined }

/** A line as it is kept: all text, so that its size is known and it holds nothing else in memory. */
interface KeptLine {
  readonly line: WireLine
  /** The body was no text on the wire, and is none for those who look. */
  readonly isJson: boolean
  readonly bytes: number
}

export class LoggedCall {
  readonly id = crypto.randomUUID()
  #facts: CallTarget
  readonly #startedAt = new Date()
  readonly #begun = performance.now()
  #first: KeptLine[] = []
  #last: KeptLine[] = []
  #lastBytes = 0
  #isFirstFull = false
  #left = 0
  #isForgotten = false
  #ms: number | undefined
  #error: string | undefined
  #isLeft = false
  taskId: string | undefined
  contextId: string | undefined
  bytes = 0
  onChange: () => void = () => undefined

  constructor(facts: CallTarget) {
    this.#facts = facts
  }

  /** How it turned out to be spoken. */
  spoken(facts: Pick<CallTarget, 'dialect' | 'binding' | 'url'>): void {
    this.#facts = { ...this.#facts, ...facts }
    this.onChange()
  }

  note(entry: WireEntry): void {
    if (this.#isForgotten) return
    const kept = keptLine(entry, Math.round(performance.now() - this.#begun))
    this.bytes += kept.bytes
    this.#isFirstFull ||= this.#first.length >= maxLines || this.bytes > maxCallBytes
    if (this.#isFirstFull) {
      this.#last.push(kept)
      this.#lastBytes += kept.bytes
      // Now and then, so that a line costs the same however many came before it.
      if (this.#last.length > 2 * maxLines || this.#lastBytes > maxCallBytes) this.#leaveOut()
    } else this.#first.push(kept)
    this.onChange()
  }

  /** Half of the newest lines, the older ones. */
  #leaveOut(): void {
    let count = 0
    while (
      count < this.#last.length - 1 &&
      (this.#last.length - count > maxLines || this.#lastBytes > maxCallBytes / 2)
    ) {
      const { bytes } = this.#last[count++] as KeptLine // before the last one
      this.#lastBytes -= bytes
      this.bytes -= bytes
    }
    this.#last = this.#last.slice(count)
    this.#left += count
  }

  /** There was no room for it: whoever still makes the call adds to nothing. */
  forget(): void {
    this.#isForgotten = true
    this.#first = []
    this.#last = []
    this.bytes = 0
  }

  end(error?: string): void {
    if (this.#ms !== undefined) return
    this.#ms = Math.round(performance.now() - this.#begun)
    this.#error = error === undefined ? undefined : copied(error.slice(0, maxErrorLength))
    this.onChange()
  }

  /** Over, because nobody wanted the rest. */
  leave(): void {
    if (this.#ms !== undefined) return
    this.#isLeft = true
    this.end()
  }

  /** Over, and as expected: somebody who asks again wants to see the newer one. */
  isReplacedBy({ ref, operation }: CallTarget): boolean {
    const isDone = this.#ms !== undefined && this.#error === undefined
    return isDone && operation === 'listTasks' && operation === this.#facts.operation && ref === this.#facts.ref
  }

  summary(): CallSummary {
    return {
      id: this.id,
      ...this.#facts,
      startedAt: this.#startedAt.toISOString(),
      ...(this.#ms !== undefined && { ms: this.#ms }),
      ...(this.taskId !== undefined && { taskId: this.taskId }),
      ...(this.contextId !== undefined && { contextId: this.contextId }),
      ...(this.#error !== undefined && { error: this.#error }),
      ...(this.#isLeft && { isLeft: true }),
      lines: this.#first.length + this.#last.length + this.#left,
      bytes: this.bytes,
    }
  }

  view(): CallView {
    return { ...this.summary(), wire: [...this.#first, ...this.#last].map(shown), left: this.#left }
  }
}

export class CallLog {
  readonly #calls = new Map<string, LoggedCall>()
  readonly #tell: (summary: CallSummary) => void

  constructor(tell: (summary: CallSummary) => void) {
    this.#tell = tell
  }

  begin(facts: CallTarget): LoggedCall {
    const call = new LoggedCall(facts)
    let isToBeTold = false
    call.onChange = () => {
      this.#makeRoomFor(call)
      if (isToBeTold) return
      isToBeTold = true
      setTimeout(() => {
        isToBeTold = false
        this.#tell(call.summary())
      }, notifyIntervalMs).unref()
    }
    // Lists are asked for again and again while somebody looks at one: they would push everything else out.
    const last = [...this.#calls.values()].at(-1)
    if (last?.isReplacedBy(facts)) this.#forget(last)
    this.#calls.set(call.id, call)
    this.#makeRoomFor(call)
    return call
  }

  get(id: string): LoggedCall | undefined {
    return this.#calls.get(id)
  }

  /** Newest first. */
  list(wanted: CallFilter): CallSummary[] {
    const names = ['ref', 'taskId', 'contextId'] as const
    return [...this.#calls.values()]
      .map((call) => call.summary())
      .filter((call) => names.every((name) => wanted[name] === undefined || call[name] === wanted[name]))
      .reverse()
  }

  /** The oldest make room. One call alone never needs all of it. */
  #makeRoomFor(growing: LoggedCall): void {
    let bytes = 0
    for (const call of this.#calls.values()) bytes += call.bytes
    for (const call of this.#calls.values()) {
      if (this.#calls.size <= maxCalls && bytes <= maxLogBytes) return
      if (call === growing) continue
      bytes -= call.bytes
      this.#forget(call)
    }
  }

  #forget(call: LoggedCall): void {
    this.#calls.delete(call.id)
    call.forget()
  }
}

function keptLine(entry: WireEntry, at: number): KeptLine {
  const { body, ...rest } = entry
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const line = { ...rest, ...(text !== undefined && { body: clipped(text) }), at }
  return {
    line,
    isJson: typeof body !== 'string' && text !== undefined && text.length <= maxBodyLength,
    bytes: 200 + Buffer.byteLength(line.body ?? '') + Buffer.byteLength(JSON.stringify(rest)),
  }
}

function shown({ line, isJson }: KeptLine): WireLine {
  return isJson ? { ...line, body: JSON.parse(line.body as string) as unknown } : line
}

function clipped(text: string): string {
  if (text.length <= maxBodyLength) return text
  return `${copied(text.slice(0, maxBodyLength))}… (${text.length} characters in all)`
}

/** A part of a text keeps the whole of it in memory, unless it is written anew. */
function copied(text: string): string {
  return Buffer.from(text).toString()
}
