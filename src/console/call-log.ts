/** The log of a session's calls with their requests and responses. In memory, with limits. */
import type { WireEntry } from '../client/wire-log.js'
import type { Operation } from '../model/operations.js'
import type { CallSummary, CallView, WireLine } from './console-api.js'

const maxCalls = 300
const maxLogBytes = 64 * 1024 * 1024
/** Limits of one call: the first and the newest lines are kept. */
const maxLines = 4000
const maxCallBytes = 8 * 1024 * 1024
const maxBodyLength = 512 * 1024
const maxErrorLength = 4096
/** Minimum time between notifications about a call. */
const notifyIntervalMs = 200

export interface CallTarget {
  readonly ref: string
  readonly operation: Operation
  readonly dialect: string
  readonly binding: string
  readonly url: string
}

/** Absent members match every call. */
type CallFilter = { readonly [Name in 'ref' | 'taskId' | 'contextId']?: string | undefined }

/** A stored line. Its body is a string, so that its size is known. */
interface KeptLine {
  readonly line: WireLine
  /** The body is JSON, and is parsed when it is shown. */
  readonly isJson: boolean
  readonly bytes: number
}

export class LoggedCall {
  readonly id = crypto.randomUUID()
  #target: CallTarget
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

  constructor(target: CallTarget) {
    this.#target = target
  }

  /** Sets the negotiated dialect, binding and URL. */
  negotiated(facts: Pick<CallTarget, 'dialect' | 'binding' | 'url'>): void {
    this.#target = { ...this.#target, ...facts }
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
      // Removes many lines at once, so that the cost per line is constant.
      if (this.#last.length > 2 * maxLines || this.#lastBytes > maxCallBytes) this.#trim()
    } else this.#first.push(kept)
    this.onChange()
  }

  /** Removes the older half of the newest lines. */
  #trim(): void {
    let count = 0
    while (
      count < this.#last.length - 1 &&
      (this.#last.length - count > maxLines || this.#lastBytes > maxCallBytes / 2)
    ) {
      const { bytes } = this.#last[count++] as KeptLine // the loop keeps the last one
      this.#lastBytes -= bytes
      this.bytes -= bytes
    }
    this.#last = this.#last.slice(count)
    this.#left += count
  }

  /** Discards the lines; a running call adds no further ones. */
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

  /** Ends the call because the page left it. */
  leave(): void {
    if (this.#ms !== undefined) return
    this.#isLeft = true
    this.end()
  }

  /** A newer list of tasks replaces a completed one. */
  isReplacedBy({ ref, operation }: CallTarget): boolean {
    const isDone = this.#ms !== undefined && this.#error === undefined
    return isDone && operation === 'listTasks' && operation === this.#target.operation && ref === this.#target.ref
  }

  summary(): CallSummary {
    return {
      id: this.id,
      ...this.#target,
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
  readonly #notify: (summary: CallSummary) => void

  constructor(notify: (summary: CallSummary) => void) {
    this.#notify = notify
  }

  begin(target: CallTarget): LoggedCall {
    const call = new LoggedCall(target)
    let isScheduled = false
    call.onChange = () => {
      this.#makeRoomFor(call)
      if (isScheduled) return
      isScheduled = true
      setTimeout(() => {
        isScheduled = false
        this.#notify(call.summary())
      }, notifyIntervalMs).unref()
    }
    // The page polls lists of tasks; they would displace all other calls.
    const last = [...this.#calls.values()].at(-1)
    if (last?.isReplacedBy(target)) this.#forget(last)
    this.#calls.set(call.id, call)
    this.#makeRoomFor(call)
    return call
  }

  get(id: string): LoggedCall | undefined {
    return this.#calls.get(id)
  }

  /** Newest first. */
  list(filter: CallFilter): CallSummary[] {
    const names = ['ref', 'taskId', 'contextId'] as const
    return [...this.#calls.values()]
      .map((call) => call.summary())
      .filter((call) => names.every((name) => filter[name] === undefined || call[name] === filter[name]))
      .reverse()
  }

  /** Removes the oldest calls. One call never uses the whole limit. */
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

/** Copies a slice, which would otherwise keep the whole string in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString()
}
