/**
 * Authentication schemes. Every scheme describes itself in the card and verifies a request by its headers, its address
 * and its client certificate, never by its body.
 *
 * An id that the operator chose (in a list of keys, or by a function) is the caller's id unchanged. An id that a third
 * party chose (the subject of a token, the name in a certificate) gets the scheme's name as a prefix: `oidc:alice` is
 * never the `alice` of a list of keys.
 */
import type { SecurityScheme } from '../model/agent-card.js'
import type { Connection } from '../model/connection.js'
import type { Caller } from '../model/service.js'

/** The headers and the connection of a request, as schemes read them. */
export interface Credentials extends Connection {
  /** HTTP headers or gRPC metadata. */
  readonly headers: Pick<Headers, 'get'>
  readonly url: string
}

/** `absent`: the request has no credential of this scheme. `refused`: it has one, which is not valid. */
export type Verdict = { readonly caller: Caller } | 'absent' | 'refused'

/** The reason for a challenge: no valid credential, or missing scopes. */
export type Shortfall = Exclude<Verdict, object> | { readonly missing: readonly string[] }

/** A way to authenticate callers: its description in the card, and the verification of credentials. */
export interface AuthScheme {
  /** The name of the scheme in the card. */
  readonly name: string
  readonly card: SecurityScheme
  /** The issuer of its tokens. Clients of endpoints learn it, so that they can ask for a token. */
  readonly issuer?: string
  /** Headers that carry its credentials; CORS allows them. */
  readonly headers?: readonly string[]
  /** The credential is the client certificate, so the port must request one. */
  readonly needsCertificate?: boolean
  /**
   * The text that proves the caller; undefined if the request has none. `limits.failedAuthentication` recognises
   * credentials by it. Default: the values of `headers`. For a scheme with neither, every failure counts.
   */
  credential?(credentials: Credentials): string | undefined
  /** Returns the value of `WWW-Authenticate`. */
  challenge(shortfall: Shortfall): string
  /**
   * Verifies the credentials of every request; without a promise if possible. Throws `UNAVAILABLE` if verification is
   * impossible at the moment.
   */
  authenticate(credentials: Credentials): Verdict | Promise<Verdict>
}

/** A caller as operators name it: an id, optionally with scopes. */
export type NamedCaller = string | { readonly id: string; readonly scopes?: readonly string[] }

export function callerNamed(scheme: string, named: NamedCaller): Caller {
  const { id, scopes = [] } = typeof named === 'string' ? { id: named } : named
  if (typeof id !== 'string' || id === '') throw new TypeError(`${scheme}: a caller needs an id`)
  return { id, scheme, scopes }
}

const maxNameLength = 256

/** The id of a caller that a third party named; undefined for names that would be ambiguous in a log. */
export function foreignId(scheme: string, name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '' || name.length > maxNameLength || /\p{Cc}/u.test(name)) return undefined
  return `${scheme}:${name}`
}

/** The named caller, or `refused`. */
export function verdictOf(scheme: string, named: NamedCaller | undefined): Verdict {
  return named === undefined ? 'refused' : { caller: callerNamed(scheme, named) }
}

/** A parameter of a challenge, without characters that cannot be quoted. */
export function quoted(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]|["\\]/g, '')}"`
}

/** The `Bearer` challenge (RFC 6750). */
export function bearerChallenge(realm: string, shortfall: Shortfall): string {
  const start = `Bearer realm=${quoted(realm)}`
  if (shortfall === 'absent') return start
  if (shortfall === 'refused') return `${start}, error="invalid_token"`
  return `${start}, error="insufficient_scope", scope=${quoted(shortfall.missing.join(' '))}`
}

/**
 * The credentials of an `Authorization` header of this scheme. Several headers arrive as one with commas, which is not
 * valid for any scheme here.
 */
export function authorizationOf({ headers }: Credentials, scheme: string): string | undefined {
  const header = headers.get('authorization')
  if (header === null || header.length < scheme.length) return undefined
  if (header.slice(0, scheme.length).toLowerCase() !== scheme) return undefined
  const rest = header.slice(scheme.length)
  return rest === '' || rest.startsWith(' ') ? rest.trim() : undefined
}
