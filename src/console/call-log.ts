/** The calls of a session, and what went over the wire for each. In memory, and bounded. */
import type { WireEntry } from '../client/connect-options.js'
import type { Operation } from '../model/operations.js'
import type { CallSummary, CallView, WireLine } from './console-api.js'

const mostCalls = 300
const mostBytes = 64 * 1024 * 1024
/** Of each call the beginning is kept, and as many of its newest lines. */
const mostLines = 4000
const longestBody = 512 * 1024
/** A busy stream changes its summary all the time; people see this often. */
const tellEveryMs = 200

export interface CallFacts {
  readonly ref: string
  readonly operation: Operation
  readonly dialect: string
  readonly binding: string
  readonly url: string
}

/** Members that are absent do not matter. */
export type CallFilter = { readonly [Name in 'ref' | 'taskId' | 'contextId']?: string | undefined }

export class CallRecord {
  readonly id = crypto.randomUUID()
  #facts: CallFacts
  readonly #startedAt = new Date()
  readonly #begun = performance.now()
  readonly #first: WireLine[] = []
  #last: WireLine[] = []
  #left = 0
  #ms: number | undefined
  #error: string | undefined
  #isLeft = false
  taskId: string | undefined
  contextId: string | undefined
  bytes = 0
  onChange: () => void = () => undefined

  constructor(facts: CallFacts) {
    this.#facts = facts
  }

  /** How it turned out to be spoken. */
  spoken(facts: Pick<CallFacts, 'dialect' | 'binding' | 'url'>): void {
    this.#facts = { ...this.#facts, ...facts }
    this.onChange()
  }

  note(entry: WireEntry): void {
    const body = typeof entry.body === 'string' ? clipped(entry.body) : entry.body
    const line = { ...entry, ...(body !== undefined && { body }), at: Math.round(performance.now() - this.#begun) }
    this.bytes += sizeOf(line)
    if (this.#first.length < mostLines) this.#first.push(line)
    else {
      this.#last.push(line)
      // Now and then, so that a line costs the same however many came before it.
      if (this.#last.length > 2 * mostLines) {
        const gone = this.#last.slice(0, mostLines)
        this.#last = this.#last.slice(mostLines)
        this.#left += gone.length
        for (const each of gone) this.bytes -= sizeOf(each)
      }
    }
    this.onChange()
  }

  end(error?: string): void {
    if (this.#ms !== undefined) return
    this.#ms = Math.round(performance.now() - this.#begun)
    this.#error = error
    this.onChange()
  }

  /** Over, because nobody wanted the rest. */
  leave(): void {
    if (this.#ms !== undefined) return
    this.#isLeft = true
    this.end()
  }

  /** Over, and as expected: somebody who asks again wants to see the newer one. */
  isReplacedBy({ ref, operation }: CallFacts): boolean {
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
    return { ...this.summary(), wire: [...this.#first, ...this.#last], left: this.#left }
  }
}

export class CallLog {
  readonly #calls = new Map<string, CallRecord>()
  readonly #tell: (summary: CallSummary) => void

  constructor(tell: (summary: CallSummary) => void) {
    this.#tell = tell
  }

  begin(facts: CallFacts): CallRecord {
    const call = new CallRecord(facts)
    let isToBeTold = false
    call.onChange = () => {
      if (isToBeTold) return
      isToBeTold = true
      setTimeout(() => {
        isToBeTold = false
        this.#tell(call.summary())
      }, tellEveryMs).unref()
    }
    // Lists are asked for again and again while somebody looks at one: they would push everything else out.
    const last = [...this.#calls.values()].at(-1)
    if (last?.isReplacedBy(facts)) this.#calls.delete(last.id)
    this.#calls.set(call.id, call)
    this.#forgetOldest()
    return call
  }

  get(id: string): CallRecord | undefined {
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

  #forgetOldest(): void {
    let bytes = 0
    for (const call of this.#calls.values()) bytes += call.bytes
    for (const [id, call] of this.#calls) {
      if (this.#calls.size <= mostCalls && bytes <= mostBytes) return
      bytes -= call.bytes
      this.#calls.delete(id)
    }
  }
}

function clipped(body: string): string {
  return body.length > longestBody ? `${body.slice(0, longestBody)}… (${body.length} characters in all)` : body
}

function sizeOf({ body }: WireLine): number {
  return 200 + (typeof body === 'string' ? body.length : body === undefined ? 0 : 500)
}
