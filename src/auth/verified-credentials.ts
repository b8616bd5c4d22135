import type { AuthScheme, Credentials } from './scheme.js'
import { digestOf } from './secrets.js'

/** The credentials of a request as one text: empty when it carries none, absent when a scheme cannot tell. */
export type CredentialReader = (credentials: Credentials) => string | undefined

export function credentialReader(schemes: readonly AuthScheme[]): CredentialReader {
  if (schemes.some(({ credential, headers = [] }) => !credential && headers.length === 0)) return () => undefined
  // Several schemes often read one header.
  const headers = [...new Set(schemes.flatMap((scheme) => (scheme.credential ? [] : (scheme.headers ?? []))))]
  const others = schemes.filter(({ credential }) => credential)
  return (credentials) => {
    let text = ''
    for (const name of headers) {
      const value = credentials.headers.get(name)
      if (value !== null) text += `${name}: ${value}\n`
    }
    for (const scheme of others) {
      const value = scheme.credential?.(credentials)
      if (value !== undefined) text += `${scheme.name}= ${value}\n`
    }
    return text
  }
}

/** Credentials beyond this number replace the ones that were used least recently. */
const maxCredentials = 10_000

/** Remembers digests of credentials that were valid. They are verified again with every use. */
export class VerifiedCredentials {
  readonly #digests = new Set<string>()
  /** Added last. Successive requests often have the same credential, and need no digest then. */
  #last: string | undefined

  has(credential: string | undefined): boolean {
    return credential !== undefined && this.#digests.has(digestOf(credential))
  }

  add(credential: string | undefined): void {
    if (!credential || credential === this.#last) return
    this.#last = credential
    const digest = digestOf(credential)
    // The order of use matters only when an entry may have to go soon.
    if (this.#digests.size > maxCredentials / 2) this.#digests.delete(digest)
    this.#digests.add(digest)
    if (this.#digests.size <= maxCredentials) return
    const [oldest] = this.#digests
    if (oldest !== undefined) this.#digests.delete(oldest)
  }

  delete(credential: string | undefined): void {
    if (!credential || this.#digests.size === 0) return
    if (credential === this.#last) this.#last = undefined
    this.#digests.delete(digestOf(credential))
  }
}
