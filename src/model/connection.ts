/** Facts about the network connection of a request. */
import type { Caller } from './service.js'

/** A client certificate that a trusted authority has signed. */
export interface VerifiedCertificate {
  /** The subject's common name; absent if there is none or several. */
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
  /** The network address of the peer, if known. */
  readonly address?: (() => string | undefined) | undefined
  /** The certificate of the peer, if a trusted authority has signed it. */
  readonly certificate?: (() => VerifiedCertificate | undefined) | undefined
  /** Receives the caller once its credentials are verified. */
  readonly onCaller?: ((caller: Caller) => void) | undefined
}
