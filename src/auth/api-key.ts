import type { AuthScheme, Credentials } from './scheme.js'

export interface ApiKeyOptions {
  /** Where clients send it. Default: the header `X-API-Key`. */
  readonly name?: string
  readonly location?: 'header' | 'query' | 'cookie'
  readonly description?: string
}

/**
 * API keys: one key, or the callers by their keys.
 *
 * ```ts
 * serve(agent, { auth: [apiKey({ 'secret-1': 'alice', 'secret-2': 'bob' })] })
 * ```
 */
export function apiKey(keys: string | { readonly [key: string]: string }, options: ApiKeyOptions = {}): AuthScheme {
  const { name = 'X-API-Key', location = 'header', description } = options
  const owners = Object.entries(typeof keys === 'string' ? { [keys]: 'api-key' } : keys)
  if (owners.length === 0 || owners.some(([key]) => key === ''))
    throw new TypeError('apiKey needs at least one key, and none that is empty')
  const known = Promise.all(owners.map(async ([key, id]) => ({ digest: await digest(key), id })))
  return {
    name: 'apiKey',
    card: { apiKeySecurityScheme: { ...(description && { description }), location, name } },
    challenge: `ApiKey name="${name}"`,
    async authenticate({ headers, url }) {
      const given =
        location === 'header'
          ? headers.get(name)
          : location === 'query'
            ? new URL(url).searchParams.get(name)
            : cookie(headers, name)
      if (given === null) return 'absent'
      const presented = await digest(given)
      // Every key is compared, and digests are of one length: time tells nothing about them.
      let caller: string | undefined
      for (const { digest: expected, id } of await known) if (isEqual(presented, expected)) caller = id
      return caller === undefined ? 'refused' : { caller: { id: caller } }
    },
  }
}

function cookie(headers: Credentials['headers'], name: string): string | null {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const [key, value] = pair.split('=', 2)
    if (key?.trim() === name) return value?.trim() ?? ''
  }
  return null
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0
  for (let place = 0; place < a.length; place++) difference |= (a[place] ?? 0) ^ (b[place] ?? 0)
  return difference === 0
}
