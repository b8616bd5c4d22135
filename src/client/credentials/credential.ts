/**
 * How a client proves who it is. The card says what an agent wants; the user gives sources; what a source gives
 * goes to the origins the user named and nowhere else (`authorizer.ts` sees to that, sources need not).
 */
import type { SecurityScheme } from '../../model/agent-card.js'
import type { HttpSender } from '../../transports/http-sender.js'

/** One scheme of a requirement of the card. */
export interface SchemeNeed {
  /** Its name in the card; empty where the card asks for nothing. */
  readonly name: string
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
}

/** What to add to a call. gRPC has no query: there it goes nowhere. */
export interface Credential {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly cookies?: Readonly<Record<string, string>>
}

export interface CredentialContext {
  /** The agent's. */
  readonly origin: string
  /** For requests to authorization servers: `named` are the origins the user gave for them. */
  sender(named: readonly string[]): HttpSender
  readonly signal?: AbortSignal
}

export interface CredentialSource {
  /** How it is sent to agents that do not say what they want. Absent: not at all. */
  readonly defaultScheme?: SecurityScheme
  /** Whether it is for this scheme, which the card calls so; asks nobody. */
  fits(scheme: SecurityScheme, name?: string): boolean
  get(need: SchemeNeed, context: CredentialContext): Promise<Credential>
  /** The agent refused this. Whether `get` may now give something else. */
  refused?(need: SchemeNeed, given: Credential, context: CredentialContext): Promise<boolean>
}

/** One source, several, or sources by the names of the card's schemes. */
export type CredentialSources =
  | CredentialSource
  | readonly CredentialSource[]
  | { readonly [scheme: string]: CredentialSource }

export function bearerHeader(token: string): Credential {
  return { headers: { authorization: `Bearer ${token}` } }
}
