/**
 * Access to the console. Without `token` and `auth`, only browsers on the same machine may use it. Otherwise a user needs the
 * token, or must satisfy `auth`. A session is an HttpOnly cookie, which pages of other origins cannot use.
 */

import { randomBytes } from 'node:crypto'
import { createAdmit } from '../auth/admit.js'
import type { Auth } from '../auth/requirement.js'
import { cardSecurity, requirementsOf } from '../auth/requirement.js'
import type { Credentials } from '../auth/scheme.js'
import { createAuthorizer } from '../client/credentials/authorizer.js'
import { isRefused } from '../model/admission.js'
import { canParseUrl } from '../model/can-parse-url.js'
import type { Connection } from '../model/connection.js'
import { A2AError, overLimit } from '../model/errors.js'
import { limitAdmission } from '../server/limit-admission.js'
import { RateLimit } from '../server/rate-limit.js'
import { consoleHeader, emptyCard } from './console-api.js'
import { readCredentials, sourceFor } from './given-credential.js'
import { cookieFor, cookieOf, hashed, isSame } from './responses.js'
import { Session, type SessionDeps } from './session.js'

export interface AccessOptions {
  /** A user with this token gets a session. */
  readonly token?: string
  /** A user that satisfies one of these schemes gets a session: `[apiKey('…')]`, `[oidc(…)]` … */
  readonly auth?: Auth
  /** Names that are accepted in the `Host` header, in addition to loopback names: `console.example:8443`. */
  readonly hosts?: readonly string[]
  /** URL that browsers and webhooks use. Default: the URL at which the page was opened. */
  readonly publicUrl?: string
}

/** The request for a session. */
interface SessionRequest {
  readonly token?: unknown
  /** Typed credentials, by scheme name. */
  readonly credentials?: unknown
}

interface SessionStart {
  readonly session: Session
  /** Value of `Set-Cookie`. */
  readonly cookie?: string
}

/** Beyond this number, the oldest session without an open tab is removed. */
const maxIdleSessions = 20
/** Maximum number of sessions, with and without open tabs. */
const maxSessions = 200
/** Limits how long a revoked credential can be used. */
const maxSessionMs = 12 * 60 * 60 * 1000
const ownNames = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
/** Addresses of connections from this machine. */
const loopback = /^((::ffff:)?127(\.\d{1,3}){3}|::1)$/i
/** Headers that proxies, tunnels and content delivery networks add. */
const forwarders =
  /^(forwarded|via|x-forwarded(-.*)?|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|client-ip|true-client-ip|remote-addr|cf-.*|cdn-loop|fastly-.*|fly-.*|x-envoy-.*|x-arr-.*|x-azure-.*|x-appengine-.*|x-amz-cf-.*|x-amzn-trace-id|x-tailscale-.*|tailscale-.*|x-ngrok-.*|ngrok-.*|proxy-.*)$/
const ipAddress = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d{1,5})?$/i

interface Entry {
  readonly session: Session
  /** Absent if sessions do not expire. */
  readonly ending: NodeJS.Timeout | undefined
}

export class Access {
  readonly #options: AccessOptions
  readonly #deps: SessionDeps
  readonly #login: Login | undefined
  /** Failed logins by address; wrong tokens and credentials count alike. */
  readonly #failures = new RateLimit(failedLoginRate)
  /** By the hash of the cookie, so that a memory dump contains no usable cookie. */
  readonly #sessions = new Map<string, Entry>()

  constructor(options: AccessOptions, deps: SessionDeps) {
    assertLogin(options.auth)
    this.#options = options
    this.#deps = deps
    this.#login = options.auth && createLogin(options.auth, this.#failures)
  }

  /** The reason to reject a request regardless of its caller, or undefined. */
  fault(request: Request): string | undefined {
    const host = hostOf(request)
    const site = request.headers.get('sec-fetch-site')
    if (!this.isOwn(host)) return `The console does not accept the host ${host.slice(0, 100)}`
    if (site !== null && site !== 'same-origin' && site !== 'none') return 'This page may not use the console'
    const origin = request.headers.get('origin')
    // Pages on other ports of this machine share its cookies.
    if (origin !== null && (!canParseUrl(origin) || new URL(origin).host !== host))
      return 'This page may not use the console'
    return undefined
  }

  /** Checks the host against DNS rebinding: a foreign name that resolves to this machine is not accepted. */
  isOwn(host: string): boolean {
    const { hosts = [] } = this.#options
    return ownNames.test(host) || hosts.includes(host) || (!this.#isLocalOnly && ipAddress.test(host))
  }

  /** The header shows that the request is not a simple request, which any page could send. */
  isOurs(request: Request): boolean {
    return request.headers.get(consoleHeader) === '1'
  }

  /** The credentials that a login needs; undefined without `auth`. */
  get asks(): Login['asks'] | undefined {
    return this.#login?.asks
  }

  find(request: Request): Session | undefined {
    const key = keyOf(request)
    const session = key === undefined ? undefined : this.#sessions.get(hashed(key))?.session
    if (session) session.usedAt = performance.now()
    return session
  }

  /** Returns a session, or throws `A2AError` with a message for the user. */
  async begin(request: Request, asked: SessionRequest, connection: Connection): Promise<SessionStart> {
    const known = this.find(request)
    if (known) return { session: known }
    await this.#admit(request, asked, connection)
    this.#makeRoom()
    const key = randomBytes(24).toString('base64url')
    const hash = hashed(key)
    const session = new Session(this.#deps)
    // A timer, because an open page may send no further request.
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

  get #isLocalOnly(): boolean {
    return this.#options.token === undefined && this.#login === undefined
  }

  async #admit(request: Request, { token, credentials }: SessionRequest, connection: Connection): Promise<void> {
    const { token: wanted } = this.#options
    if (wanted !== undefined && typeof token === 'string') {
      const peer = connection.address?.() ?? ''
      const pause = this.#failures.waitFor(peer)
      if (pause > 0) {
        const value = `limit failedAuthentication: ${this.#failures.text}`
        throw overLimit(
          { limit: 'failedAuthentication', max: this.#failures.text },
          `Too many failed logins from your address (${value}), try again later`,
          pause,
        )
      }
      if (isSame(token, wanted)) return
      this.#failures.take(peer)
    }
    if (this.#login) return await this.#login.admit(request, credentials, connection)
    // A proxy on this machine makes remote browsers look local.
    const isForwarded = [...request.headers.keys()].some((name) => forwarders.test(name))
    // The Host header alone proves nothing.
    const isLocal = loopback.test(connection.address?.() ?? '') && ownNames.test(hostOf(request))
    if (wanted === undefined && !isForwarded && isLocal) return
    throw new A2AError(
      'UNAUTHENTICATED',
      wanted === undefined
        ? 'This console accepts only users on its own machine: it was started without a token or authentication'
        : 'Open the URL that was printed when the console was started',
    )
  }

  #makeRoom(): void {
    if (this.#sessions.size < maxIdleSessions) return
    const idle = [...this.#sessions].filter(([, { session }]) => !session.isWatched)
    const [oldest] = idle.sort(([, a], [, b]) => a.session.usedAt - b.session.usedAt)
    if (oldest) this.#drop(oldest[0])
    else if (this.#sessions.size >= maxSessions)
      throw new A2AError('RATE_LIMITED', 'The console has too many sessions; try again later')
  }
}

export function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function keyOf(request: Request): string | undefined {
  return cookieOf(request, 'console')
}

/** Limits guesses of passwords and tokens. */
const failedLoginRate = { perSecond: 0.2, burst: 10 }

interface Login {
  /** In the form of an agent card. */
  readonly asks: ReturnType<typeof cardSecurity>
  /** Throws `A2AError` with a message for the user. */
  admit(request: Request, typed: unknown, connection: Connection): Promise<void>
}

/** Rejects `'none'` and an empty list: users of the console can call its agents with their stored credentials. */
export function assertLogin(auth: unknown): void {
  if (auth === 'none' || (Array.isArray(auth) && auth.length === 0))
    throw new TypeError('A console needs authentication: give `auth` a scheme, or omit it to use a token')
}

/** A login with `auth`. The required credentials are described as on an agent card, so that the page needs one form only. */
function createLogin(auth: Auth, failures: RateLimit): Login {
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
      // A request without typed credentials is not a failed login.
      const admission = await ((typed !== undefined && limited) || admit)(credentials)
      if (isRefused(admission)) throw admission.refused
    },
  }
}

/**
 * Converts typed credentials to those of an agent call, so that all schemes work here. Other headers of the browser are
 * ignored, so that every guess is counted.
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
    throw new A2AError('UNAUTHENTICATED', 'The credential does not fit the required scheme', { cause })
  })
  return { headers: new Headers(headers), url: `${origin}/?${new URLSearchParams(query)}` }
}
