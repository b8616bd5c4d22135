/**
 * Sessions of clients of the revisions before 2026-07-28, which connect before they call and are asked while a call is open.
 * A session belongs to the caller that opened it. Tasks outlive it.
 */
import type { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { A2AError, overLimit } from '../../model/errors.js'
import { anonymous, type Caller } from '../../model/service.js'
import type { ServerSdk } from './load-server.js'

export interface SessionLimits {
  /** An authenticated caller may have a tenth of them. */
  readonly maxSessions: number
  /** A session without a request, an open call or an open stream is closed after this time. */
  readonly sessionIdleMs: number
}

/** Longer timers fire at once. */
const maxTimerMs = 2 ** 31 - 1

export type SessionTransport = WebStandardStreamableHTTPServerTransport

type Answer = (transport: SessionTransport) => Promise<Response>

interface Session {
  readonly id: string
  readonly caller: Caller
  readonly transport: SessionTransport
  readonly server: Server
  readonly timer: ReturnType<typeof setTimeout>
  /** Requests, calls and streams that are open. */
  open: number
}

export class Sessions {
  readonly #sdk: ServerSdk
  readonly #limits: SessionLimits
  readonly #createServer: (onCall: () => () => void) => Server
  /** The session that was used last is at the end. */
  readonly #sessions = new Map<string, Session>()

  constructor(sdk: ServerSdk, limits: SessionLimits, createServer: (onCall: () => () => void) => Server) {
    this.#sdk = sdk
    this.#limits = limits
    this.#createServer = createServer
  }

  /**
   * Opens a session with the request that `answer` passes to its transport. A request that the transport refuses neither
   * opens a session nor ends an older one. Throws RATE_LIMITED if the caller has too many that are in use.
   */
  async open(caller: Caller, answer: Answer): Promise<Response> {
    const id = crypto.randomUUID()
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#close(id),
    })
    const server = this.#createServer(() => this.#hold(id))
    let isKept = false
    try {
      await server.connect(transport)
      const response = await answer(transport)
      if (transport.sessionId === undefined) return response
      this.#makeRoom(caller)
      this.#sessions.set(id, { id, caller, transport, server, timer: this.#startTimer(id), open: 0 })
      isKept = true
      return response
    } finally {
      if (!isKept) closeServer(server)
    }
  }

  /**
   * Answers a request of a session, which is in use until the request is answered and its stream has ended. `signal` aborts
   * when the client leaves. Throws METHOD_NOT_FOUND if there is no such session, or if it belongs to another caller.
   */
  async use(id: string, caller: Caller, answer: Answer, signal: AbortSignal): Promise<Response> {
    const session = this.#sessions.get(id)
    // Clients start a new session after status 404.
    if (session?.caller.id !== caller.id) throw new A2AError('METHOD_NOT_FOUND', 'Session not found')
    const release = this.#hold(id)
    let isStream = false
    try {
      const response = await answer(session.transport)
      const { body, headers } = response
      isStream = headers.get('content-type') === 'text/event-stream' && !signal.aborted
      if (!body || !isStream) return response
      signal.addEventListener('abort', release, { once: true })
      return new Response(readTo(body, release), response)
    } finally {
      if (!isStream) release()
    }
  }

  closeAll(): void {
    for (const id of this.#sessions.keys()) this.#close(id)
  }

  /** Marks a session as in use until the returned function is called. */
  #hold(id: string): () => void {
    const session = this.#sessions.get(id)
    if (!session) return () => {}
    session.open += 1
    session.timer.refresh()
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      session.open -= 1
      session.timer.refresh()
    }
  }

  #startTimer(id: string): Session['timer'] {
    const timer = setTimeout(
      () => {
        if (this.#sessions.get(id)?.open) timer.refresh()
        else this.#close(id)
      },
      Math.min(this.#limits.sessionIdleMs, maxTimerMs),
    )
    timer.unref?.()
    return timer
  }

  #makeRoom({ id }: Caller): void {
    const { maxSessions } = this.#limits
    const own = [...this.#sessions.values()].filter(({ caller }) => caller.id === id)
    // Callers without credentials cannot be distinguished.
    const share = id === anonymous.id ? maxSessions : Math.max(1, Math.floor(maxSessions / 10))
    if (own.length < share && this.#sessions.size < maxSessions) return
    const oldest = own.find(({ open }) => open === 0)
    if (!oldest) throw overLimit({ limit: 'maxSessions', max: maxSessions }, 'Too many open sessions')
    this.#close(oldest.id)
  }

  #close(id: string): void {
    const session = this.#sessions.get(id)
    if (!session) return
    this.#sessions.delete(id)
    clearTimeout(session.timer)
    closeServer(session.server)
  }
}

/** Closing the server closes its transport. */
function closeServer(server: Server): void {
  server.close().catch(() => {})
}

/** The same stream. Calls `onEnd` when it has ended, failed or was cancelled because the client left. */
function readTo(stream: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  reader.closed.then(onEnd, onEnd)
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
