import type { VerifiedCertificate } from '../model/connection.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type AuthScheme, foreignId, type NamedCaller, type Verdict, verdictOf } from './scheme.js'

/** The member of a certificate that names the caller. There must be exactly one name of its kind. */
export type CertificateName = 'commonName' | 'dns' | 'uri' | 'email' | 'fingerprint'

/** Options of `mtls`. */
export interface MtlsOptions {
  /** The caller's name: a member of the certificate, or a function. Default: the common name. */
  readonly caller?: CertificateName | ((certificate: VerifiedCertificate) => NamedCaller | undefined)
  readonly description?: string
  /** Name of the scheme in the card. Default `mtls`. */
  readonly scheme?: string
}

const optionNames = { caller: true, description: true, scheme: true } satisfies NamesOf<MtlsOptions>

/**
 * Accepts client certificates. The port must have `tls` with `ca`, the authorities whose certificates it accepts:
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
