import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type AuthScheme, type Credentials, quoted } from './scheme.js'
import { type CallersBySecret, callersIn, secretTable } from './secrets.js'

/** Options of `apiKey`. */
export interface ApiKeyOptions {
  /** Where clients send it. Default: the header `X-API-Key`. */
  readonly name?: string
  readonly location?: 'header' | 'query' | 'cookie'
  readonly description?: string
  /** What the card calls the scheme. Default `apiKey`. */
  readonly scheme?: string
}

const optionNames = {
  name: 'string',
  location: ['header', 'query', 'cookie'],
  description: 'string',
  scheme: 'string',
} satisfies NamesOf<ApiKeyOptions>

/**
 * API keys: one key, or the callers by their keys.
 *
 * ```ts
 * serve(agent, { auth: [apiKey({ 'secret-1': 'alice', 'secret-2': { id: 'bob', scopes: ['read'] } })] })
 * ```
 */
export function apiKey(keys: string | CallersBySecret, options: ApiKeyOptions = {}): AuthScheme {
  assertOptions('apiKey', options, optionNames)
  const { name = 'X-API-Key', location = 'header', scheme = 'apiKey', description } = options
  const callers = secretTable(scheme, Object.entries(callersIn('apiKey', keys, 'api-key')))
  const given = ({ headers, url }: Credentials): string | null => {
    if (location === 'header') return headers.get(name)
    return location === 'query' ? new URL(url).searchParams.get(name) : cookie(headers, name)
  }
  return {
    name: scheme,
    card: { apiKeySecurityScheme: { ...(description && { description }), location, name } },
    headers: location === 'header' ? [name] : [],
    challenge: () => `ApiKey name=${quoted(name)}`,
    credential: (credentials) => given(credentials) ?? undefined,
    authenticate(credentials) {
      const key = given(credentials)
      return key === null ? 'absent' : callers(key)
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
