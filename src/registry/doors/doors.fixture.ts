/** A registry behind a real port, and one function to call it by. */
import { type ServeRegistryOptions, serveRegistry } from '../serve-registry.js'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it
  readonly body: any
}

export async function open(options: ServeRegistryOptions = {}) {
  const served = await serveRegistry({ allowPrivate: true, probes: false, ...options })
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(served.address + path, {
      method,
      headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isForm ? body : typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { served, call, [Symbol.asyncDispose]: () => served.close() }
}
