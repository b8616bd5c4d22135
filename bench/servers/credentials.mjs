// What callers of `with-auth.mjs` show.
import { SignJWT } from 'jose'

export const benchKey = 'a key that only the benchmark knows'
export const benchSecret = 'a secret that only the benchmark knows, long enough'

/** Headers for each kind of proof. */
export async function headersFor(proof) {
  if (proof === 'key') return { 'x-api-key': benchKey }
  if (proof !== 'jwt') return {}
  const token = await new SignJWT({ scope: 'ask' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('bench')
    .setAudience('bench')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(benchSecret))
  return { authorization: `Bearer ${token}` }
}
