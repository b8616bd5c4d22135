/**
 * Sessions of clients of the revisions before 2026-07-28, which connect before they call and are asked while a call is open.
 * A session belongs to the caller that opened it. Tasks outlive it.
 */
import type { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { overLimit } from '../../model/errors.js'
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

interface Session {
  readonly id: string
  readonly caller: Caller
  readonly transport: WebStandardStreamableHTTPServerTransport
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

  /** Opens a session. Throws RATE_LIMITED if the caller has too many that are in use. */
  async open(caller: Caller): Promise<WebStandardStreamableHTTPServerTransport> {
    this.#makeRoom(caller)
    const id = crypto.randomUUID()
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#close(id),
    })
    const timer = setTimeout(
      () => {
        if (this.#sessions.get(id)?.open) timer.refresh()
        else this.#close(id)
      },
      Math.min(this.#limits.sessionIdleMs, maxTimerMs),
    )
    timer.unref?.()
    const server = this.#createServer(() => this.use(transport))
    this.#sessions.set(id, { id, caller, transport, server, timer, open: 0 })
    await server.connect(transport)
    return transport
  }

  /** The session with this id; undefined if there is none, or if it belongs to another caller. */
  find(id: string, caller: Caller): WebStandardStreamableHTTPServerTransport | undefined {
    const session = this.#sessions.get(id)
    return session?.caller.id === caller.id ? session.transport : undefined
  }

  /** Marks the session of a transport as in use until the returned function is called. */
  use({ sessionId = '' }: WebStandardStreamableHTTPServerTransport): () => void {
    const session = this.#sessions.get(sessionId)
    if (!session) return () => {}
    session.open += 1
    session.timer.refresh()
    this.#sessions.delete(session.id)
    this.#sessions.set(session.id, session)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      session.open -= 1
      session.timer.refresh()
    }
  }

  /** Closes the session of a transport that has refused to open it. */
  dropUnopened(transport: WebStandardStreamableHTTPServerTransport): void {
    if (transport.sessionId !== undefined) return
    for (const session of this.#sessions.values()) if (session.transport === transport) this.#close(session.id)
  }

  closeAll(): void {
    for (const id of this.#sessions.keys()) this.#close(id)
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
    // Closing the server closes its transport.
    session.server.close().catch(() => {})
  }
}
