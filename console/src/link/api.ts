/** Plain questions to the server part. */
import { type ConsoleSession, consoleHeader, type SessionRefusal } from 'dragoman/console'

export class ApiError extends Error {
  readonly status: number
  /** What would get a session, where there is none. */
  readonly asks: SessionRefusal['asks']
  /** What kind of problem it is, where the server part knows. */
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
  // The server part was started anew: on this machine it gives another session to who asks.
  await beginSession()
  return await request()
}

let last: Promise<unknown> = Promise.resolve()

/**
 * One after the other, in all tabs where the browser can tell: who asks with the cookie of another's answer gets the
 * same session, and two who ask at once would take each other's away.
 */
async function inTurn(request: () => Promise<Response>): Promise<Response> {
  // Browsers have locks on this machine and over TLS.
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
    throw new ApiError(0, '') // the page has words for it
  })
  const answer = (await response.json().catch(() => ({}))) as T & { readonly error?: unknown } & Pick<
      SessionRefusal,
      'asks' | 'code'
    >
  if (!response.ok) throw new ApiError(response.status, messageOf(answer.error) ?? `HTTP ${response.status}`, answer)
  return answer
}

/** Ours is a sentence; a registry's has one in it. */
function messageOf(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  const { message } = (error ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : undefined
}

/** From the address the command printed, out of which it is taken at once. */
function tokenOnce(): string | undefined {
  const url = new URL(location.href)
  const token = url.searchParams.get('token') ?? undefined
  if (token === undefined) return undefined
  url.searchParams.delete('token')
  history.replaceState(null, '', url)
  return token
}

const refsKey = 'dragoman.agents'

/** A session, and the agents that this browser named before. */
export async function beginSession(login: { readonly credentials?: object } = {}): Promise<ConsoleSession> {
  const token = tokenOnce()
  const session = await api<ConsoleSession>('POST', 'session', { ...login, ...(token !== undefined && { token }) })
  const known = new Set(session.agents.map(({ ref }) => ref))
  const missing = rememberedRefs().filter((ref) => !known.has(ref))
  if (missing.length === 0) return session
  await Promise.all(missing.map((ref) => api('POST', 'agents', { ref }).catch(() => undefined)))
  return await api<ConsoleSession>('POST', 'session', {})
}

/** References are kept, credentials never are. */
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
