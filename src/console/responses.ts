/** Responses and cookies of the console, and constant-time comparison of secrets. */
import { createHash, timingSafeEqual } from 'node:crypto'

interface CookieFacts {
  readonly path: string
  readonly sameSite: 'Strict' | 'Lax'
  readonly seconds?: number
  /** The public URL decides about `Secure`: a proxy may terminate TLS. */
  readonly publicUrl: string | undefined
}

export function cookieFor(request: Request, name: string, value: string, facts: CookieFacts): string {
  const { path, sameSite, seconds, publicUrl = request.url } = facts
  const isSecure = new URL(publicUrl).protocol === 'https:'
  const rest = `${seconds === undefined ? '' : `; Max-Age=${seconds}`}${isSecure ? '; Secure' : ''}`
  return `${nameFor(request, name)}=${value}; Path=${path}; HttpOnly; SameSite=${sameSite}${rest}`
}

/** Cookies are shared between ports, so the name contains the port. */
function nameFor(request: Request, name: string): string {
  const { port, protocol } = new URL(request.url)
  return `dragoman_${name}_${port || (protocol === 'https:' ? '443' : '80')}`
}

export function cookieOf(request: Request, name: string): string | undefined {
  const called = nameFor(request, name)
  const cookies = (request.headers.get('cookie') ?? '').split(/;\s*/)
  return cookies.find((each) => each.startsWith(`${called}=`))?.slice(called.length + 1)
}

export function hashed(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashed(one)), Buffer.from(hashed(other)))
}

/** The console's own answers: plain JSON, never kept, never taken for a page. */
const headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** A JSON response that is not cached and not interpreted as a page. */
export function json(status: number, value: unknown, more: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...headers, ...more } })
}

/** An error with a message and, for translation by the page, a code. */
export function refusal(status: number, error: string, code?: string): Response {
  return json(status, { error, ...(code !== undefined && { code }) })
}
