import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type AuthScheme, authorizationOf, type NamedCaller, quoted, type Verdict, verdictOf } from './scheme.js'
import { secretTable } from './secrets.js'

/** Users and their passwords; the user's name is the caller's id unless another one is given. */
export type Users = {
  readonly [user: string]:
    | string
    | { readonly password: string; readonly id?: string; readonly scopes?: readonly string[] }
}

/** Tells who it is, or nothing. Asked for every request: slow checks should remember what they found. */
export type VerifyPassword = (
  user: string,
  password: string,
) => NamedCaller | undefined | Promise<NamedCaller | undefined>

/** Options of `basic`. */
export interface BasicOptions {
  /** What people are shown who are asked for a password. Default `agent`. */
  readonly realm?: string
  readonly description?: string
  /** What the card calls the scheme. Default `basic`. */
  readonly scheme?: string
}

const optionNames = { realm: true, description: true, scheme: true } satisfies NamesOf<BasicOptions>
const userNames = { password: true, id: true, scopes: true } satisfies NamesOf<Exclude<Users[string], string>>

/**
 * User and password in each request (RFC 7617): passwords by user, or a function that checks them.
 *
 * ```ts
 * serve(agent, { auth: [basic({ alice: 'correct horse' })] })
 * ```
 */
export function basic(users: Users | VerifyPassword, options: BasicOptions = {}): AuthScheme {
  assertOptions('basic', options, optionNames)
  const { realm = 'agent', scheme = 'basic', description } = options
  const check = typeof users === 'function' ? checkWith(scheme, users) : checkList(scheme, users)
  return {
    name: scheme,
    card: { httpAuthSecurityScheme: { ...(description && { description }), scheme: 'Basic' } },
    headers: ['Authorization'],
    challenge: () => `Basic realm=${quoted(realm)}, charset="UTF-8"`,
    authenticate(credentials) {
      const given = authorizationOf(credentials, 'basic')
      if (given === undefined) return 'absent'
      const pair = decode(given)
      return pair === undefined ? 'refused' : check(pair)
    },
  }
}

/** User and password are one secret: it takes as long to be wrong about the one as about the other. */
function checkList(scheme: string, users: Users): (pair: string) => Verdict {
  return secretTable(
    scheme,
    Object.entries(users).map(([user, given]) => {
      const { password, id = user, scopes = [] } = typeof given === 'string' ? { password: given } : given
      if (typeof given === 'object') assertOptions(`basic: the user ${user}`, given, userNames)
      if (user === '' || user.includes(':')) throw new TypeError('basic: a user needs a name, without a colon')
      if (typeof password !== 'string' || password === '') throw new TypeError(`basic: ${user} needs a password`)
      return [`${user}:${password}`.normalize('NFC'), { id, scopes }]
    }),
  )
}

function checkWith(scheme: string, verify: VerifyPassword): (pair: string) => Verdict | Promise<Verdict> {
  return (pair) => {
    const colon = pair.indexOf(':')
    const named = verify(pair.slice(0, colon), pair.slice(colon + 1))
    return named instanceof Promise ? named.then((caller) => verdictOf(scheme, caller)) : verdictOf(scheme, named)
  }
}

/** Absent when it is no base64 of UTF-8, or has no colon. */
function decode(given: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(given), (character) => character.charCodeAt(0))
    const pair = new TextDecoder('utf-8', { fatal: true }).decode(bytes).normalize('NFC')
    return pair.includes(':') ? pair : undefined
  } catch {
    return undefined
  }
}
