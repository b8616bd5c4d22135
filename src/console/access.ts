/**
 * Who may use the console. Where neither a token nor `auth` is given, whoever opens the page on this machine: the
 * connection comes from it, and the address can only be its own. Else whoever has the token, or meets `auth`. A session is a cookie that no script reads and
 * that no page of another origin can use.
 */

import { randomBytes } from 'node:crypto'
import { createAdmit } from '../auth/admit.js'
import type { Auth } from '../auth/requirement.js'
import { cardSecurity, requirementsOf } from '../auth/requirement.js'
import type { Connection, Credentials } from '../auth/scheme.js'
import { createAuthorizer } from '../client/credentials/authorizer.js'
import { isRefused } from '../model/admission.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError, overLimit } from '../model/errors.js'
import { limitAdmission } from '../server/limit-admission.js'
import { RateLimit } from '../server/rate-limit.js'
import { consoleHeader, emptyCard } from './console-api.js'
import { readCredentials, sourceFor } from './given-credential.js'
import { cookieFor, cookieOf, hashed, isSame } from './responses.js'
import { Session, type SessionDeps } from './session.js'

export interface AccessOptions {
  /** Whoever has it gets a session. */
  readonly token?: string
  /** Whoever meets one of these gets a session: `[apiKey('…')]`, `[oidc(…)]` … */
  readonly auth?: Auth
  /** Hosts this console is called by beside this machine's own names: `console.example:8443`. */
  readonly hosts?: readonly string[]
  /** Where people and webhooks reach this console. Default: where the page was opened. */
  readonly publicUrl?: string
}

/** What a page says to get a session. */
export interface SessionRequest {
  readonly token?: unknown
  /** What somebody typed, by the names of schemes. */
  readonly credentials?: unknown
}

export interface SessionStart {
  readonly session: Session
  /** To be set. */
  readonly cookie?: string
}

/** That many are kept for people who may come back. */
const maxIdleSessions = 20
/** That many are there at most, whoever looks on. */
const maxSessions = 200
/** Somebody whose credential was withdrawn is not here for ever. */
const maxSessionMs = 12 * 60 * 60 * 1000
const ownNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
/** Where connections from this machine come from. */
const loopback = /^((::ffff:)?127(\.\d{1,3}){3}|::1)$/i
/** What proxies, tunnels and content networks add. One that adds nothing cannot be told from a browser. */
const forwarders =
  /^(forwarded|via|x-forwarded(-.*)?|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|client-ip|true-client-ip|remote-addr|cf-.*|cdn-loop|fastly-.*|fly-.*|x-envoy-.*|x-arr-.*|x-azure-.*|x-appengine-.*|x-amz-cf-.*|x-amzn-trace-id|x-tailscale-.*|tailscale-.*|x-ngrok-.*|ngrok-.*|proxy-.*)$/
const numbers = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?$/i

interface Entry {
  readonly session: Session
  /** Absent where a session is for as long as the console. */
  readonly ending: NodeJS.Timeout | undefined
}

export class Access {
  readonly #options: AccessOptions
  readonly #parts: SessionDeps
  readonly #login: Login | undefined
  /** Wrong answers, by the address they are from: tokens and credentials count alike. */
  readonly #failures = new RateLimit(failedLoginRate)
  /** By the hash of the cookie: who reads memory finds no key. */
  readonly #sessions = new Map<string, Entry>()

  constructor(options: AccessOptions, parts: SessionDeps) {
    this.#options = options
    this.#parts = parts
    this.#login = options.auth && createLogin(options.auth, this.#failures)
  }

  /** The reason to refuse a request whoever it is from; absent when there is none. */
  fault(request: Request): string | undefined {
    const host = hostOf(request)
    const site = request.headers.get('sec-fetch-site')
    if (!this.isOwn(host)) return `This console is not called ${host.slice(0, 100)}`
    if (site !== null && site !== 'same-origin' && site !== 'none') return 'This page may not use the console'
    const origin = request.headers.get('origin')
    // Other ports of this machine share its cookies.
    if (origin !== null && (!canParseUrl(origin) || new URL(origin).host !== host))
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
    const session = key === undefined ? undefined : this.#sessions.get(hashed(key))?.session
    if (session) session.usedAt = performance.now()
    return session
  }

  /** A session for somebody who may have one; throws in plain words for others. */
  async begin(request: Request, asked: SessionRequest, connection: Connection): Promise<SessionStart> {
    const known = this.find(request)
    if (known) return { session: known }
    await this.#admit(request, asked, connection)
    this.#makeRoom()
    const key = randomBytes(24).toString('base64url')
    const hash = hashed(key)
    const session = new Session(this.#parts)
    // A page that stays open asks for nothing: it is not left to the next request to notice the end.
    const ending = this.#login && setTimeout(() => this.#drop(hash), maxSessionMs).unref()
    this.#sessions.set(hash, { session, ending })
    const facts = { path: '/console', sameSite: 'Strict', publicUrl: this.#options.publicUrl } as const
    return { session, cookie: cookieFor(request, 'console', key, facts) }
  }

  end(request: Request): void {
    const key = keyOf(request)
    if (key !== undefined) this.#drop(hashed(key))
  }

  sessions(): readonly Session[] {
    return [...this.#sessions.values()].map(({ session }) => session)
  }

  close(): void {
    for (const hash of [...this.#sessions.keys()]) this.#drop(hash)
  }

  #drop(hash: string): void {
    const entry = this.#sessions.get(hash)
    clearTimeout(entry?.ending)
    this.#sessions.delete(hash)
    entry?.session.close()
  }

  get #isForThisMachine(): boolean {
    return this.#options.token === undefined && this.#login === undefined
  }

  async #admit(request: Request, { token, credentials }: SessionRequest, connection: Connection): Promise<void> {
    const { token: wanted } = this.#options
    if (wanted !== undefined && typeof token === 'string') {
      const peer = connection.address?.() ?? ''
      const pause = this.#failures.waitFor(peer)
      if (pause > 0) throw overLimit('failedAuthentication', 'Too many wrong tokens', pause)
      if (isSame(token, wanted)) return
      this.#failures.take(peer)
    }
    if (this.#login) return await this.#login.admit(request, credentials, connection)
    // Somebody in between makes other machines look like this one.
    const isForwarded = [...request.headers.keys()].some((name) => forwarders.test(name))
    // A name proves nothing: anybody may say it, from anywhere.
    const isFromHere = loopback.test(connection.address?.() ?? '') && ownNames.test(hostOf(request))
    if (wanted === undefined && !isForwarded && isFromHere) return
    throw new A2AError(
      'UNAUTHENTICATED',
      wanted === undefined
        ? 'This console is for people on its own machine: others need a token or a login, which it was not given'
        : 'Open the address that was printed when the console was started',
    )
  }

  #makeRoom(): void {
    if (this.#sessions.size < maxIdleSessions) return
    const idle = [...this.#sessions].filter(([, { session }]) => !session.isWatched)
    const [oldest] = idle.sort(([, a], [, b]) => a.session.usedAt - b.session.usedAt)
    if (oldest) this.#drop(oldest[0])
    else if (this.#sessions.size >= maxSessions)
      throw new A2AError('RATE_LIMITED', 'Too many people use this console at once')
  }
}

export function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function keyOf(request: Request): string | undefined {
  return cookieOf(request, 'console')
}

/** Passwords can be guessed. */
export const failedLoginRate = { perSecond: 0.2, burst: 10 }

export interface Login {
  /** As in a card. */
  readonly asks: ReturnType<typeof cardSecurity>
  /** Throws in plain words when nobody can be let in. */
  admit(request: Request, typed: unknown, connection: Connection): Promise<void>
}

export function createLogin(auth: Auth, failures: RateLimit): Login {
  // Who opens the console calls agents from here, with what was given for them.
  if (!Array.isArray(auth) || auth.length === 0)
    throw new TypeError('A console is never for everybody: give `auth` a scheme, or leave it out for a token')
  const requirements = requirementsOf(auth)
  const asks = cardSecurity(requirements)
  const admit = createAdmit(requirements)
  const limited = limitAdmission(requirements, {
    rate: undefined,
    failedAuthentication: { rate: failures, isPublicOnly: false },
  })
  return {
    asks,
    async admit(request, typed, connection) {
      const credentials = { ...connection, ...(await asSent(request, typed, asks)) }
      // A page that was just opened has tried nothing.
      const admission = await ((typed !== undefined && limited) || admit)(credentials)
      if (isRefused(admission)) throw admission.refused
    },
  }
}

/**
 * What somebody typed, as the request of a client that has it. Whatever else the browser sends proves nothing: what is
 * guessed here is counted.
 */
async function asSent({ url }: Request, typed: unknown, asks: Login['asks']): Promise<Credentials> {
  const sources = Object.fromEntries(
    Object.entries(readCredentials(typed)).flatMap(([scheme, given]) => {
      const source = sourceFor(given)
      return source ? [[scheme, source]] : []
    }),
  )
  const { origin } = new URL(url)
  const { additionsFor } = createAuthorizer({ ...emptyCard, ...asks }, sources, { origins: [origin] })
  const { headers, query } = await additionsFor(url).catch((cause: unknown) => {
    throw new A2AError('UNAUTHENTICATED', 'That is not what is asked for here', { cause })
  })
  return { headers: new Headers(headers), url: `${origin}/?${new URLSearchParams(query)}` }
}
