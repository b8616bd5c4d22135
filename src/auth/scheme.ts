/**
 * How a caller proves who it is. Every scheme says how it stands in the card and checks a request by
 * its headers and address alone; bodies are never looked at.
 */
import type { SecurityScheme } from '../model/agent-card.js'
import type { Caller } from '../model/service.js'

export interface Credentials {
  /** HTTP headers or gRPC metadata. */
  readonly headers: Pick<Headers, 'get'>
  readonly url: string
}

/** `absent`: nothing of this scheme was sent. `refused`: something was, and it is not valid. */
export type Verdict = { readonly caller: Caller } | 'absent' | 'refused'

export interface AuthScheme {
  /** The name of the scheme in the card. */
  readonly name: string
  readonly card: SecurityScheme
  /** For `WWW-Authenticate`. */
  readonly challenge: string
  authenticate(credentials: Credentials): Promise<Verdict>
}

/** The caller by the first scheme that knows it; absent when none does. */
export async function authenticate(
  schemes: readonly AuthScheme[],
  credentials: Credentials,
): Promise<Caller | undefined> {
  for (const scheme of schemes) {
    const verdict = await scheme.authenticate(credentials)
    if (typeof verdict === 'object') return verdict.caller
  }
  return undefined
}
