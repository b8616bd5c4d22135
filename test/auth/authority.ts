/** A certificate authority for one test. */
import { webcrypto } from 'node:crypto'

/**
 * The library's dependency container requires `Reflect.getMetadata` at load. Its classes have no metadata, so an empty
 * implementation is enough.
 */
async function loadX509() {
  const nothing = () => undefined
  Object.assign(Reflect, { getMetadata: nothing, getOwnMetadata: nothing, defineMetadata: nothing })
  return await import('@peculiar/x509')
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const day = 24 * 60 * 60_000

export interface Issued {
  readonly cert: string
  readonly key: string
}

export interface Wanted {
  /** The subject, as in `CN=alice`. */
  readonly name: string
  readonly altNames?: readonly { readonly type: 'dns' | 'url' | 'email' | 'ip'; readonly value: string }[]
  readonly isExpired?: boolean
}

export interface Authority {
  /** Its own certificate. */
  readonly ca: string
  issue(wanted: Wanted): Promise<Issued>
}

export async function createAuthority(name: string): Promise<Authority> {
  const x509 = await loadX509()
  const keys = await generate()
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  })
  return {
    ca: own.toString('pem'),
    async issue({ name: subject, altNames = [], isExpired = false }) {
      const leaf = await generate()
      const certificate = await x509.X509CertificateGenerator.create({
        subject,
        issuer: own.subject,
        signingKey: keys.privateKey,
        publicKey: leaf.publicKey,
        notBefore: new Date(Date.now() - 2 * day),
        notAfter: new Date(Date.now() + (isExpired ? -day : day)),
        signingAlgorithm: algorithm,
        extensions: altNames.length > 0 ? [new x509.SubjectAlternativeNameExtension([...altNames])] : [],
      })
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', leaf.privateKey)
      return { cert: certificate.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') }
    },
  }
}

async function generate(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair // a pair: the algorithm is asymmetric
}
