/** Requests to the console's server. */
import { type ConsoleSession, consoleHeader, type SessionRefusal } from 'dragoman/console'

export class ApiError extends Error {
  readonly status: number
  /** The credentials that give a session, if there is none. */
  readonly asks: SessionRefusal['asks']
  /** The kind of error, if the server knows it. */
  readonly code: string | undefined

  constructor(status: number, message: string, { asks, code }: Pick<SessionRefusal, 'asks' | 'code'> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.asks = asks
  }
}

const sessionLock = 'dragoman.session'
const ours = { [consoleHeader]: '1' }

export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...Object.fromEntries(new Headers(init.headers)), ...ours }
  const request = () => fetch(`/console/${path}`, { ...init, headers, credentials: 'same-origin' })
  if (path === 'api/session') return await inTurn(request)
  const response = await request()
  if (response.status !== 401) return response
  // The server was restarted; on this machine it gives a new session without a credential.
  await beginSession()
  return await request()
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Serialises session requests, across tabs if the browser has locks. Concurrent requests would each get a new session
 * and replace the cookie of the other; a later request with the cookie gets the same session.
 */
async function inTurn(request: () => Promise<Response>): Promise<Response> {
  // Locks exist on loopback and over TLS only.
  if (navigator.locks) return await navigator.locks.request(sessionLock, request)
  const response = last.then(request, request)
  last = response
  return await response
}

export async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(`api/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => {
    throw new ApiError(0, '') // the page has its own message for this
  })
  const answer = (await response.json().catch(() => ({}))) as T & { readonly error?: unknown } & Pick<
      SessionRefusal,
      'asks' | 'code'
    >
  if (!response.ok) throw new ApiError(response.status, messageOf(answer.error) ?? `HTTP ${response.status}`, answer)
  return answer
}

/** The console's errors are strings; a registry's errors have a message. */
function messageOf(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  const { message } = (error ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : undefined
}

/** Reads the token from the URL and removes it there. */
function tokenOnce(): string | undefined {
  const url = new URL(location.href)
  const token = url.searchParams.get('token') ?? undefined
  if (token === undefined) return undefined
  url.searchParams.delete('token')
  history.replaceState(null, '', url)
  return token
}

const refsKey = 'dragoman.agents'

/** Creates or renews the session, and adds the agents that this browser stored. */
export async function beginSession(login: { readonly credentials?: object } = {}): Promise<ConsoleSession> {
  const token = tokenOnce()
  const session = await api<ConsoleSession>('POST', 'session', { ...login, ...(token !== undefined && { token }) })
  const known = new Set(session.agents.map(({ ref }) => ref))
  const missing = rememberedRefs().filter((ref) => !known.has(ref))
  if (missing.length === 0) return session
  await Promise.all(missing.map((ref) => api('POST', 'agents', { ref }).catch(() => undefined)))
  return await api<ConsoleSession>('POST', 'session', {})
}

/** Stores references of agents, never credentials. */
export function rememberRefs(refs: readonly string[]): void {
  localStorage.setItem(refsKey, JSON.stringify(refs))
}

export function forgetRefs(): void {
  localStorage.removeItem(refsKey)
}

function rememberedRefs(): readonly string[] {
  try {
    const refs: unknown = JSON.parse(localStorage.getItem(refsKey) ?? '[]')
    return Array.isArray(refs) ? refs.filter((ref): ref is string => typeof ref === 'string') : []
  } catch {
    return []
  }
}
