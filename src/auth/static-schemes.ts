/** Schemes for secrets that the operator lists or checks: `bearer`, `apiKey` and `basic`. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { assertOptions, describeValue, type NamesOf } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import {
  type AuthScheme,
  authorizationOf,
  bearerChallenge,
  type Credentials,
  callerNamed,
  type NamedCaller,
  quoted,
  type Verdict,
  verdictOf,
} from './scheme.js'

/** Callers by their keys or tokens. */
export type CallersBySecret = { readonly [secret: string]: NamedCaller }

const callerNames = { id: true, scopes: true } satisfies NamesOf<Exclude<NamedCaller, string>>

/** Callers by their secrets. A secret that is missing is often an unset environment variable. */
function callersIn(owner: string, given: string | CallersBySecret, caller: string): CallersBySecret {
  if (typeof given === 'string') return { [given]: caller }
  if (typeof given !== 'object' || given === null || Array.isArray(given) || given instanceof Promise)
    throw new TypeError(
      `${owner} needs a secret, or an object with callers by their secrets; got ${describeValue(given)}`,
    )
  return given
}

type SecretTable = (given: string) => Verdict

/** Up to this number, comparing with every secret costs less than a digest, which takes 4 to 10 µs of a call. */
const maxCompared = 8

/** Looks up secrets. The time it takes tells nothing about them but their length. */
export function secretTable(scheme: string, callers: Iterable<readonly [string, NamedCaller]>): SecretTable {
  const known = new Map<string, { readonly caller: Caller }>()
  for (const [secret, named] of callers) {
    if (typeof named === 'object') assertOptions(`a caller in ${scheme}`, named, callerNames)
    known.set(secret, { caller: callerNamed(scheme, named) })
  }
  if (known.size === 0 || known.has(''))
    throw new TypeError(`${scheme} needs at least one secret, and none that is empty`)
  // The name of a member that was computed from an unset variable: `{ [process.env.KEY]: 'ann' }`.
  if (known.has('undefined')) throw new TypeError(`${scheme} needs a secret; got undefined`)
  if (known.size > maxCompared) {
    const byDigest = new Map([...known].map(([secret, verdict]) => [digestOf(secret), verdict]))
    return (given) => byDigest.get(digestOf(given)) ?? 'refused'
  }
  const entries = [...known].map(([secret, verdict]) => ({ bytes: Buffer.from(secret), verdict }))
  return (given) => {
    const bytes = Buffer.from(given)
    let found: Verdict = 'refused'
    for (const entry of entries)
      if (entry.bytes.length === bytes.length && timingSafeEqual(entry.bytes, bytes)) found = entry.verdict
    return found
  }
}

/** Made at the first use: Cloudflare Workers have no random values while modules load. */
let processKey: string | undefined

/**
 * The digest starts with a random key of this process, so that callers cannot predict it. It never leaves the process;
 * plain hashing is as safe as HMAC and four times as fast.
 */
export function digestOf(secret: string): string {
  processKey ??= randomBytes(32).toString('base64')
  return hash('sha256', processKey + secret, 'base64')
}

/** Returns the owner of a token, or undefined. Called for every request: slow checks should cache their results. */
export type VerifyToken = (token: string) => NamedCaller | undefined | Promise<NamedCaller | undefined>

/** Options of `bearer`. */
export interface BearerOptions {
  /** Realm of the challenge. Default `agent`. */
  readonly realm?: string
  readonly description?: string
  /** Name of the scheme in the card. Default `bearer`. */
  readonly scheme?: string
}

const bearerOptions = { realm: true, description: true, scheme: true } satisfies NamesOf<BearerOptions>

/**
 * Accepts opaque bearer tokens: one token, callers by their tokens, or a function that checks a token.
 *
 * ```ts
 * serve(agent, { auth: bearer({ 'token-1': 'alice' }) })
 * serve(agent, { auth: bearer(async (token) => await sessions.userOf(token)) })
 * ```
 */
export function bearer(tokens: string | CallersBySecret | VerifyToken, options: BearerOptions = {}): AuthScheme {
  assertOptions('bearer', options, bearerOptions)
  const { realm = 'agent', scheme = 'bearer', description } = options
  const check = typeof tokens === 'function' ? checkToken(scheme, tokens) : tokenTable(scheme, tokens)
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

/** Every token that fits into a header is shorter. */
const maxTokenLength = 16 * 1024

/** The bearer token of a request; empty if its format is invalid. */
export function bearerToken(credentials: Credentials): string | undefined {
  const token = authorizationOf(credentials, 'bearer')
  if (token === undefined) return undefined
  return token.length <= maxTokenLength && /^[\w\-.~+/]+=*$/.test(token) ? token : ''
}

function tokenTable(scheme: string, tokens: string | CallersBySecret) {
  return secretTable(scheme, Object.entries(callersIn('bearer', tokens, 'bearer')))
}

function checkToken(scheme: string, verify: VerifyToken) {
  return (token: string) => {
    const named = verify(token)
    return named instanceof Promise ? named.then((caller) => verdictOf(scheme, caller)) : verdictOf(scheme, named)
  }
}

/** Options of `apiKey`. */
export interface ApiKeyOptions {
  /** Name of the header, query parameter or cookie that holds the key. Default `X-API-Key`. */
  readonly name?: string
  /** Default `header`. */
  readonly location?: 'header' | 'query' | 'cookie'
  readonly description?: string
  /** Name of the scheme in the card. Default `apiKey`. */
  readonly scheme?: string
}

const apiKeyOptions = {
  name: 'string',
  location: ['header', 'query', 'cookie'],
  description: 'string',
  scheme: 'string',
} satisfies NamesOf<ApiKeyOptions>

/**
 * Accepts API keys: one key, or callers by their keys.
 *
 * ```ts
 * serve(agent, { auth: apiKey({ 'secret-1': 'alice', 'secret-2': { id: 'bob', scopes: ['read'] } }) })
 * ```
 */
export function apiKey(keys: string | CallersBySecret, options: ApiKeyOptions = {}): AuthScheme {
  assertOptions('apiKey', options, apiKeyOptions)
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

/** Passwords by user name. The caller's id is `id`, or else the user name. */
export type Users = {
  readonly [user: string]:
    | string
    | { readonly password: string; readonly id?: string; readonly scopes?: readonly string[] }
}

/** Returns the caller, or undefined. Called for every request: slow checks should cache their results. */
export type VerifyPassword = (
  user: string,
  password: string,
) => NamedCaller | undefined | Promise<NamedCaller | undefined>

/** Options of `basic`. */
export interface BasicOptions {
  /** Realm of the challenge, which browsers show in their password dialog. Default `agent`. */
  readonly realm?: string
  readonly description?: string
  /** Name of the scheme in the card. Default `basic`. */
  readonly scheme?: string
}

const basicOptions = { realm: true, description: true, scheme: true } satisfies NamesOf<BasicOptions>
const userNames = { password: true, id: true, scopes: true } satisfies NamesOf<Exclude<Users[string], string>>

/**
 * Accepts a user name and a password in each request (RFC 7617): passwords by user, or a function that checks them.
 *
 * ```ts
 * serve(agent, { auth: basic({ alice: 'correct horse' }) })
 * ```
 */
export function basic(users: Users | VerifyPassword, options: BasicOptions = {}): AuthScheme {
  assertOptions('basic', options, basicOptions)
  const { realm = 'agent', scheme = 'basic', description } = options
  const check = typeof users === 'function' ? checkPassword(scheme, users) : passwordTable(scheme, users)
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

/** User and password are one secret, so that a wrong user and a wrong password take the same time. */
function passwordTable(scheme: string, users: Users): (pair: string) => Verdict {
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

function checkPassword(scheme: string, verify: VerifyPassword): (pair: string) => Verdict | Promise<Verdict> {
  return (pair) => {
    const colon = pair.indexOf(':')
    const named = verify(pair.slice(0, colon), pair.slice(colon + 1))
    return named instanceof Promise ? named.then((caller) => verdictOf(scheme, caller)) : verdictOf(scheme, named)
  }
}

/** The pair of user and password; undefined if it is not base64 of UTF-8 with a colon. */
function decode(given: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(given), (character) => character.charCodeAt(0))
    const pair = new TextDecoder('utf-8', { fatal: true }).decode(bytes).normalize('NFC')
    return pair.includes(':') ? pair : undefined
  } catch {
    return undefined
  }
}
