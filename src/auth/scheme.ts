/**
 * How a caller proves who it is. Every scheme says how it stands in the card and checks a request by what
 * came beside it: headers, address, client certificate. Bodies are never looked at.
 *
 * An id that the operator chose (in a list of keys, or by a function) is the caller's id as it is. An id that
 * somebody else chose (the subject of a token, the name in a certificate) has the scheme's name before it:
 * `oidc:alice` is never the `alice` of a list of keys.
 */
import type { SecurityScheme } from '../model/agent-card.js'
import type { Caller } from '../model/service.js'

/** A certificate that a client showed, and that the server's authorities vouch for. */
export interface VerifiedCertificate {
  /** The subject's common name; absent when it has none, or several. */
  readonly commonName?: string
  /** Its other names with their kinds: `DNS:agent.example`, `URI:spiffe://example/agent`. */
  readonly altNames: readonly string[]
  /** SHA-256 of the certificate, in lower-case hexadecimal digits. */
  readonly fingerprint: string
  /** The certificate itself (DER). */
  readonly raw: Uint8Array
}

/** The connection that a request arrived on. */
export interface Connection {
  /** Where it comes from, as far as the network tells. */
  readonly address?: () => string | undefined
  /** The certificate the peer showed; only if an authority that the server trusts vouches for it. */
  readonly certificate?: () => VerifiedCertificate | undefined
  /** Receives the caller once its credentials are verified. */
  readonly onCaller?: (caller: Caller) => void
}

/** The headers and the connection of a request, as schemes read them. */
export interface Credentials extends Connection {
  /** HTTP headers or gRPC metadata. */
  readonly headers: Pick<Headers, 'get'>
  readonly url: string
}

/** `absent`: nothing of this scheme was sent. `refused`: something was, and it is not valid. */
export type Verdict = { readonly caller: Caller } | 'absent' | 'refused'

/** Why a caller is challenged: nothing valid was sent, or it is not good for enough. */
export type Shortfall = Exclude<Verdict, object> | { readonly missing: readonly string[] }

/** A way to authenticate callers: how the card describes it, and how credentials are checked. */
export interface AuthScheme {
  /** The name of the scheme in the card. */
  readonly name: string
  readonly card: SecurityScheme
  /** Headers that its credentials come in, for browsers on other origins. */
  readonly headers?: readonly string[]
  /** Its credential is the client certificate, so the port has to ask for one. */
  readonly needsCertificate?: boolean
  /**
   * The text that proves the caller; absent when the request carries none. `limits.failedAuthentication` recognises
   * credentials by it. Default: the values of `headers`. A scheme with neither has all its failures counted.
   */
  credential?(credentials: Credentials): string | undefined
  /** For `WWW-Authenticate`. */
  challenge(shortfall: Shortfall): string
  /**
   * Asked for every request; what can be told at once is told without a promise. Throws `UNAVAILABLE` where
   * nobody can tell at the moment.
   */
  authenticate(credentials: Credentials): Verdict | Promise<Verdict>
}

/** A caller as operators name one: by id, or with what its credential is good for. */
export type NamedCaller = string | { readonly id: string; readonly scopes?: readonly string[] }

export function callerNamed(scheme: string, named: NamedCaller): Caller {
  const { id, scopes = [] } = typeof named === 'string' ? { id: named } : named
  if (typeof id !== 'string' || id === '') throw new TypeError(`${scheme}: a caller needs an id`)
  return { id, scheme, scopes }
}

const longestName = 256

/** The id of a caller whom somebody else named; nobody when the name could not be told from others in a log. */
export function foreignId(scheme: string, name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '' || name.length > longestName || /\p{Cc}/u.test(name)) return undefined
  return `${scheme}:${name}`
}

/** The caller that was named, or nobody. */
export function verdictOf(scheme: string, named: NamedCaller | undefined): Verdict {
  return named === undefined ? 'refused' : { caller: callerNamed(scheme, named) }
}

/** A parameter of a challenge; what cannot stand between quotes is left out. */
export function quoted(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]|["\\]/g, '')}"`
}

/** What `Bearer` challenges say (RFC 6750). */
export function bearerChallenge(realm: string, shortfall: Shortfall): string {
  const start = `Bearer realm=${quoted(realm)}`
  if (shortfall === 'absent') return start
  if (shortfall === 'refused') return `${start}, error="invalid_token"`
  return `${start}, error="insufficient_scope", scope=${quoted(shortfall.missing.join(' '))}`
}

/**
 * The credentials of an `Authorization` header, if it is of this scheme. Several headers arrive as one with
 * commas, which is no credential of any scheme here.
 */
export function authorizationOf({ headers }: Credentials, scheme: string): string | undefined {
  const header = headers.get('authorization')
  if (header === null || header.length < scheme.length) return undefined
  if (header.slice(0, scheme.length).toLowerCase() !== scheme) return undefined
  const rest = header.slice(scheme.length)
  return rest === '' || rest.startsWith(' ') ? rest.trim() : undefined
}
