import type { AuthScheme, Credentials } from './scheme.js'
import { digestOf } from './secrets.js'

/** The credential that a request carries for one scheme: empty when it carries none, absent when the scheme cannot tell. */
export type CredentialReader = (credentials: Credentials) => string | undefined

/** Schemes that read the same headers have the same credential. */
export function credentialReader({ name: scheme, credential, headers = [] }: AuthScheme): CredentialReader {
  if (credential) {
    return (credentials) => {
      const value = credential(credentials)
      return value === undefined ? '' : `${scheme}= ${value}`
    }
  }
  if (headers.length === 0) return () => undefined
  return (credentials) => {
    let text = ''
    for (const name of headers) {
      const value = credentials.headers.get(name)
      if (value !== null) text += `${name}: ${value}\n`
    }
    return text
  }
}

/** Credentials beyond these numbers replace the ones that were used least recently. */
const maxCredentials = 10_000
/** One credential has many spellings, and a caller may have many tokens. They must not replace those of other callers. */
const maxCredentialsOfCaller = 100

/** Remembers digests of credentials that were valid. They are verified again with every use. */
export class VerifiedCredentials {
  /** Ids of callers by the digests of their credentials. */
  readonly #callers = new Map<string, string>()
  readonly #digests = new Map<string, Set<string>>()
  /** Added last. Successive requests often have the same credential, and need no digest then. */
  #last: string | undefined

  has(credential: string | undefined): boolean {
    return credential !== undefined && this.#callers.has(digestOf(credential))
  }

  add(credential: string | undefined, caller: string): void {
    if (!credential || credential === this.#last) return
    this.#last = credential
    const digest = digestOf(credential)
    this.#remove(digest)
    this.#callers.set(digest, caller)
    const own = this.#digests.get(caller) ?? new Set()
    this.#digests.set(caller, own.add(digest))
    if (own.size > maxCredentialsOfCaller) this.#remove(own.keys().next().value)
    if (this.#callers.size > maxCredentials) this.#remove(this.#callers.keys().next().value)
  }

  delete(credential: string | undefined): void {
    if (!credential || this.#callers.size === 0) return
    if (credential === this.#last) this.#last = undefined
    this.#remove(digestOf(credential))
  }

  #remove(digest: string | undefined): void {
    const caller = digest === undefined ? undefined : this.#callers.get(digest)
    if (digest === undefined || caller === undefined) return
    this.#callers.delete(digest)
    const own = this.#digests.get(caller)
    own?.delete(digest)
    if (own?.size === 0) this.#digests.delete(caller)
  }
}
