/** The features that `with-feature.ts` enables, and the credentials that its callers send. */
import { SignJWT } from 'jose'

export const features = ['none', 'key', 'jwt', 'limits', 'metrics', 'audit'] as const

export type Feature = (typeof features)[number]

export const benchKey = 'a key that only the benchmark knows'
export const benchSecret = 'a secret that only the benchmark knows, long enough'

export async function headersFor(feature: Feature): Promise<Record<string, string>> {
  if (feature === 'key') return { 'x-api-key': benchKey }
  if (feature !== 'jwt') return {}
  const token = await new SignJWT({ scope: 'ask' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('bench')
    .setAudience('bench')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(benchSecret))
  return { authorization: `Bearer ${token}` }
}
