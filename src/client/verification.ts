/** Rules for the signatures of cards, and the result of checking them. */
import type { SignedForm } from '../signing/card-payload.js'
import type { SenderOptions } from './guarded-fetch.js'

export const signaturePolicies = ['require', 'warn', 'ignore'] as const

/** `require` rejects cards without a valid signature, `warn` reports invalid signatures, `ignore` checks none. */
export type SignaturePolicy = (typeof signaturePolicies)[number]

/** A public key as a JSON Web Key (RFC 7517). */
export type PublicKey = Readonly<Record<string, unknown>> & { readonly kty?: string }

/** Rules for the signatures of cards. */
export interface SignatureOptions {
  /** Default `warn`. */
  readonly policy?: SignaturePolicy
  /** Trusted keys: one, several, or a JWK Set. */
  readonly keys?: PublicKey | readonly PublicKey[] | { readonly keys: readonly PublicKey[] }
  /** Origins whose published keys are trusted, beside the origin of the card. */
  readonly keyOrigins?: readonly string[]
  /**
   * Accepted forms of the signed content. Default: all; forms other than `strict` are reported. A signature over
   * `stripped` does not cover empty fields.
   */
  readonly forms?: readonly SignedForm[]
}

/** Options of `verifyCard`. */
export interface VerifyOptions extends SignatureOptions {
  /** Allows keys at addresses in private networks. Default false. */
  readonly allowPrivate?: boolean
  /** Replaces the guarded `fetch` that reads published keys. */
  readonly fetch?: typeof fetch
  /** Aborts the requests for keys. */
  readonly signal?: AbortSignal
}

/** Options of a check, with those that only `connect` and tests set. */
export type CheckOptions = VerifyOptions &
  Pick<SenderOptions, 'handle' | 'lookup' | 'wire'> & { readonly now?: () => number }

/** The result of checking the signatures of a card. */
export interface Verification {
  /** `unknown-key`: there is a signature, but no trusted key to check it with. */
  readonly state: 'valid' | 'invalid' | 'absent' | 'unknown-key'
  readonly keyId?: string
  /** Form of the signed content. Only `strict` is the form of the specification. */
  readonly form?: SignedForm
  readonly reason?: string
  /** A message for the user, depending on the policy. */
  readonly warning?: string
}

/** A card and its origin. */
export interface SignedCard {
  /** The JSON as the server sent it. */
  readonly raw: unknown
  /** Address of the card. */
  readonly url?: string
  /** Origin whose published keys are trusted. Default: the origin of `url`. */
  readonly origin?: string
}

export interface Signature {
  readonly protected: string
  readonly signature: string
}
