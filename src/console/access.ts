/**
 * Who may use the console. On this machine, at an address that can only be this machine, whoever opens the page;
 * anywhere else whoever has the token of this launch, or meets `auth`. A session is a cookie that no script reads and
 * that no page of another origin can use.
 */
import { randomBytes } from 'node:crypto'
import type { Auth } from '../auth/requirement.js'
import type { Connection } from '../auth/scheme.js'
import { A2AError } from '../model/errors.js'
import { consoleHeader } from './console-api.js'
import { cookieFor, cookieOf, hashed, isSame } from './cookies.js'
import { createLogin, type Login } from './login.js'
import { Session, type SessionParts } from './session.js'

export interface AccessOptions {
  /** Whoever has it gets a session. */
  readonly token?: string
  /** Whoever meets one of these gets a session: `[apiKey('…')]`, `[oidc(…)]` … */
  readonly auth?: Auth
  /** Hosts this console is called by beside this machine's own names: `console.example:8443`. */
  readonly hosts?: readonly string[]
}

/** What a page says to get a session. */
export interface Asked {
  readonly token?: unknown
  /** What somebody typed, by the names of schemes. */
  readonly credentials?: unknown
}

export interface Begun {
  readonly session: Session
  /** To be set. */
  readonly cookie?: string
}

/** That many are kept for people who may come back. */
const mostSessions = 20
/** That many are there at most, whoever looks on. */
const mostAtOnce = 200
/** Somebody whose credential was withdrawn is not here for ever. */
const longestLoginMs = 12 * 60 * 60 * 1000
const ownNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
const numbers = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?$/i

export class Access {
  readonly #options: AccessOptions
  readonly #parts: SessionParts
  readonly #login: Login | undefined
  /** By the hash of the cookie: who reads memory finds no key. */
  readonly #sessions = new Map<string, Session>()

  constructor(options: AccessOptions, parts: SessionParts) {
    this.#options = options
    this.#parts = parts
    this.#login = options.auth && createLogin(options.auth)
  }

  /** The reason to refuse a request whoever it is from; absent when there is none. */
  fault(request: Request): string | undefined {
    const host = hostOf(request)
    const site = request.headers.get('sec-fetch-site')
    if (!this.isOwn(host)) return `This console is not called ${host.slice(0, 100)}`
    if (site !== null && site !== 'same-origin' && site !== 'none') return 'This page may not use the console'
    const origin = request.headers.get('origin')
    // Other ports of this machine share its cookies.
    if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== host))
      return 'This page may not use the console'
    return undefined
  }

  /** A name that leads here by somebody else's choice would make that somebody's page one of ours (DNS rebinding). */
  isOwn(host: string): boolean {
    const { hosts = [] } = this.#options
    return ownNames.test(host) || hosts.includes(host) || (!this.#isForThisMachine && numbers.test(host))
  }

  /** Simple requests are those that any page may make any browser send: nothing here is one. */
  isOurs(request: Request): boolean {
    return request.headers.get(consoleHeader) === '1'
  }

  /** What somebody without a session is asked for; absent where there is nothing to type. */
  get asks(): Login['asks'] | undefined {
    return this.#login?.asks
  }

  find(request: Request): Session | undefined {
    const key = keyOf(request)
    const session = key === undefined ? undefined : this.#sessions.get(hashed(key))
    if (!session) return undefined
    const now = performance.now()
    if (this.#login && now - session.begunAt > longestLoginMs) {
      this.end(request)
      return undefined
    }
    session.usedAt = now
    return session
  }

  /** A session for somebody who may have one; throws in plain words for others. */
  async begin(request: Request, asked: Asked, connection: Connection): Promise<Begun> {
    const known = this.find(request)
    if (known) return { session: known }
    await this.#admit(request, asked, connection)
    this.#makeRoom()
    const key = randomBytes(24).toString('base64url')
    const session = new Session(this.#parts)
    this.#sessions.set(hashed(key), session)
    return { session, cookie: cookieFor(request, 'console', key, { path: '/console', sameSite: 'Strict' }) }
  }

  end(request: Request): void {
    const key = keyOf(request)
    if (key === undefined) return
    this.#sessions.get(hashed(key))?.close()
    this.#sessions.delete(hashed(key))
  }

  sessions(): Iterable<Session> {
    return this.#sessions.values()
  }

  get #isForThisMachine(): boolean {
    return this.#options.token === undefined && this.#login === undefined
  }

  async #admit(request: Request, { token, credentials }: Asked, connection: Connection): Promise<void> {
    const { token: wanted } = this.#options
    if (wanted !== undefined && typeof token === 'string' && isSame(token, wanted)) return
    if (this.#login) return await this.#login.admit(request, credentials, connection)
    // Somebody in between makes other machines look like this one.
    const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => request.headers.has(name))
    if (wanted === undefined && !isForwarded && ownNames.test(hostOf(request))) return
    throw new A2AError('UNAUTHENTICATED', 'Open the address that was printed when the console was started')
  }

  #makeRoom(): void {
    if (this.#sessions.size < mostSessions) return
    const idle = [...this.#sessions].filter(([, session]) => !session.isWatched)
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (oldest) {
      oldest[1].close()
      this.#sessions.delete(oldest[0])
    } else if (this.#sessions.size >= mostAtOnce)
      throw new A2AError('RATE_LIMITED', 'Too many people use this console at once')
  }
}

export function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function keyOf(request: Request): string | undefined {
  return cookieOf(request, 'console')
}
