/** The credentials that callers of `with-auth.ts` send. */
import { SignJWT } from 'jose'

export const credentialKinds = ['none', 'key', 'jwt'] as const

export type CredentialKind = (typeof credentialKinds)[number]

export const benchKey = 'a key that only the benchmark knows'
export const benchSecret = 'a secret that only the benchmark knows, long enough'

export async function headersFor(kind: CredentialKind): Promise<Record<string, string>> {
  if (kind === 'none') return {}
  if (kind === 'key') return { 'x-api-key': benchKey }
  const token = await new SignJWT({ scope: 'ask' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('bench')
    .setAudience('bench')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(benchSecret))
  return { authorization: `Bearer ${token}` }
}
