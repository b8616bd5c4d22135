import { assertOptions, type NamesOf } from '../model/option-names.js'
import {
  type AuthScheme,
  foreignId,
  type NamedCaller,
  type Verdict,
  type VerifiedCertificate,
  verdictOf,
} from './scheme.js'

/** The member of a certificate that names the caller; of names of one kind there must be exactly one. */
export type CertificateName = 'commonName' | 'dns' | 'uri' | 'email' | 'fingerprint'

/** Options of `mtls`. */
export interface MtlsOptions {
  /** Who a certificate is: one of its names, or a function that tells. Default: the common name. */
  readonly caller?: CertificateName | ((certificate: VerifiedCertificate) => NamedCaller | undefined)
  readonly description?: string
  /** What the card calls the scheme. Default `mtls`. */
  readonly scheme?: string
}

const optionNames = { caller: true, description: true, scheme: true } satisfies NamesOf<MtlsOptions>

/**
 * Client certificates. The port must speak TLS itself and know the authorities whose certificates it takes:
 *
 * ```ts
 * serve(agent, { tls: { key, cert, ca: clientAuthority }, auth: [mtls()] })
 * ```
 */
export function mtls(options: MtlsOptions = {}): AuthScheme {
  assertOptions('mtls', options, optionNames)
  const { caller = 'commonName', scheme = 'mtls', description } = options
  return {
    name: scheme,
    card: { mtlsSecurityScheme: description ? { description } : {} },
    headers: [],
    needsCertificate: true,
    credential: ({ certificate: show }) => show?.()?.fingerprint,
    challenge: () => 'MutualTLS',
    authenticate({ certificate: show }): Verdict {
      const certificate = show?.()
      if (!certificate) return 'absent'
      if (typeof caller === 'function') return verdictOf(scheme, caller(certificate))
      return verdictOf(scheme, foreignId(scheme, nameIn(certificate, caller)))
    },
  }
}

function nameIn(certificate: VerifiedCertificate, name: CertificateName): string | undefined {
  if (name === 'commonName') return certificate.commonName
  if (name === 'fingerprint') return certificate.fingerprint
  const mark = name === 'email' ? 'email:' : `${name.toUpperCase()}:`
  const [only, ...others] = certificate.altNames.filter((each) => each.startsWith(mark))
  return others.length > 0 ? undefined : only?.slice(mark.length)
}
