/**
 * Who may use the console. On this machine, at an address that can only be this machine, whoever opens the page;
 * anywhere else whoever has the token of this launch. A session is a cookie that no script reads and that no page of
 * another origin can use.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { consoleHeader } from './console-api.js'
import { Session, type SessionParts } from './session.js'

export interface AccessOptions {
  /** Needed for a session, where the page is not only for this machine. */
  readonly token?: string
  /** Hosts this console is called by beside this machine's own names: `console.example:8443`. */
  readonly hosts?: readonly string[]
}

const mostSessions = 20
const ownNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
const numbers = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?$/i

export class Access {
  readonly #options: AccessOptions
  readonly #parts: SessionParts
  /** By the hash of the cookie: who reads memory finds no key. */
  readonly #sessions = new Map<string, Session>()

  constructor(options: AccessOptions, parts: SessionParts) {
    this.#options = options
    this.#parts = parts
  }

  /** The reason to refuse a request whoever it is from; absent when there is none. */
  fault(request: Request): string | undefined {
    const host = request.headers.get('host') ?? new URL(request.url).host
    // A name that leads here by somebody else's choice would make that somebody's page one of ours (DNS rebinding).
    if (!this.#isOwn(host)) return `This console is not called ${host.slice(0, 100)}`
    const site = request.headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin' && site !== 'none') return 'This page may not use the console'
    const origin = request.headers.get('origin')
    // Other ports of this machine share its cookies.
    if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== host))
      return 'This page may not use the console'
    return undefined
  }

  /** Simple requests are those that any page may make any browser send: nothing here is one. */
  isOurs(request: Request): boolean {
    return request.headers.get(consoleHeader) === '1'
  }

  find(request: Request): Session | undefined {
    const session = this.#sessions.get(hashed(cookieOf(request) ?? ''))
    if (session) session.usedAt = performance.now()
    return session
  }

  /** A session for somebody who may have one, with the cookie to set; absent when the token is missing or wrong. */
  begin(request: Request, token: unknown): { readonly session: Session; readonly cookie?: string } | undefined {
    const known = this.find(request)
    if (known) return { session: known }
    if (!this.#isAdmitted(request, token)) return undefined
    const key = randomBytes(24).toString('base64url')
    const session = new Session(this.#parts)
    this.#sessions.set(hashed(key), session)
    this.#forgetOldest()
    const isSecure = new URL(request.url).protocol === 'https:'
    const cookie = `${nameFor(request)}=${key}; Path=/console; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
    return { session, cookie }
  }

  sessions(): Iterable<Session> {
    return this.#sessions.values()
  }

  #isOwn(host: string): boolean {
    const { token, hosts = [] } = this.#options
    return ownNames.test(host) || hosts.includes(host) || (token !== undefined && numbers.test(host))
  }

  #isAdmitted(request: Request, token: unknown): boolean {
    const { token: wanted } = this.#options
    if (wanted !== undefined) return typeof token === 'string' && isSame(token, wanted)
    // Somebody in between makes other machines look like this one.
    const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => request.headers.has(name))
    return !isForwarded && ownNames.test(request.headers.get('host') ?? new URL(request.url).host)
  }

  #forgetOldest(): void {
    if (this.#sessions.size <= mostSessions) return
    const idle = [...this.#sessions].filter(([, session]) => !session.isWatched)
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (!oldest) return
    oldest[1].close()
    this.#sessions.delete(oldest[0])
  }
}

/** Cookies do not know ports: consoles on two of them would take each other's away. */
function nameFor(request: Request): string {
  const { port, protocol } = new URL(request.url)
  return `dragoman_console_${port || (protocol === 'https:' ? '443' : '80')}`
}

function cookieOf(request: Request): string | undefined {
  const name = nameFor(request)
  const cookies = (request.headers.get('cookie') ?? '').split(/;\s*/)
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1)
}

function hashed(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashed(one)), Buffer.from(hashed(other)))
}
