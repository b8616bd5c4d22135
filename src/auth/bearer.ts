import { assertOptions, type NamesOf } from '../model/option-names.js'
import {
  type AuthScheme,
  authorizationOf,
  bearerChallenge,
  type Credentials,
  type NamedCaller,
  verdictOf,
} from './scheme.js'
import { type CallersBySecret, callersIn, secretTable } from './secrets.js'

/** Tells whose token it is, or nothing. Asked for every request: slow checks should remember what they found. */
export type VerifyToken = (token: string) => NamedCaller | undefined | Promise<NamedCaller | undefined>

/** Options of `bearer`. */
export interface BearerOptions {
  /** Default `agent`. */
  readonly realm?: string
  readonly description?: string
  /** What the card calls the scheme. Default `bearer`. */
  readonly scheme?: string
}

const optionNames = { realm: true, description: true, scheme: true } satisfies NamesOf<BearerOptions>

/**
 * Tokens that mean something to this server alone: one token, the callers by their tokens, or a function.
 *
 * ```ts
 * serve(agent, { auth: [bearer({ 'token-1': 'alice' })] })
 * serve(agent, { auth: [bearer(async (token) => await sessions.userOf(token))] })
 * ```
 */
export function bearer(tokens: string | CallersBySecret | VerifyToken, options: BearerOptions = {}): AuthScheme {
  assertOptions('bearer', options, optionNames)
  const { realm = 'agent', scheme = 'bearer', description } = options
  const check = typeof tokens === 'function' ? checkWith(scheme, tokens) : checkList(scheme, tokens)
  return {
    name: scheme,
    card: { httpAuthSecurityScheme: { ...(description && { description }), scheme: 'Bearer' } },
    headers: ['Authorization'],
    challenge: (shortfall) => bearerChallenge(realm, shortfall),
    authenticate(credentials) {
      const token = bearerToken(credentials)
      if (token === undefined) return 'absent'
      return token === '' ? 'refused' : check(token)
    },
  }
}

/** Long enough for any token that fits into a header. */
const longestToken = 16 * 1024

/** The token of a request; empty when there is one that no token can look like. */
export function bearerToken(credentials: Credentials): string | undefined {
  const token = authorizationOf(credentials, 'bearer')
  if (token === undefined) return undefined
  return token.length <= longestToken && /^[\w\-.~+/]+=*$/.test(token) ? token : ''
}

function checkList(scheme: string, tokens: string | CallersBySecret) {
  return secretTable(scheme, Object.entries(callersIn('bearer', tokens, 'bearer')))
}

function checkWith(scheme: string, verify: VerifyToken) {
  return (token: string) => {
    const named = verify(token)
    return named instanceof Promise ? named.then((caller) => verdictOf(scheme, caller)) : verdictOf(scheme, named)
  }
}
