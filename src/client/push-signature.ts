/**
 * Whether a delivery was signed by who is believed to have sent it: a token by a published key, about this very body,
 * issued lately (R-PDEL-9, RL-01-9). What cannot be decided because the keys are out of reach is not the sender's
 * fault: that throws, and the sender is asked to come again.
 */
import type { errors, JWTPayload } from 'jose'
import { A2AError, clip } from '../model/errors.js'
import { loadJose } from '../net/load-jose.js'
import { type DeliveryClaims, deliveryTokenHeader } from '../signing/delivery-token.js'

export interface PushSignatureOptions {
  /** Where the sender publishes its keys: deliveries must then carry a signed token about their very body. */
  readonly jwksUrl?: string
  /** Who must have issued the token: the address of the agent. Default: whoever has a key there. */
  readonly issuer?: string
  /** Whom the token must be for: the address of the webhook as it was registered. Default: not looked at. */
  readonly audience?: string
  /** How old a signed delivery may be. Default 5 minutes. */
  readonly maxAgeMs?: number
}

export type SignedClaims = JWTPayload & Partial<DeliveryClaims>

/** Returns the claims of a valid token. Throws UNAUTHENTICATED with the reason if there is no valid one. */
export type SignatureCheck = (headers: Headers, bodyDigest: string) => Promise<SignedClaims>

/** Clocks differ. */
const clockToleranceSeconds = 30

export function createSignatureCheck(
  jwksUrl: string,
  { issuer, audience, maxAgeMs = 5 * 60_000 }: PushSignatureOptions,
): SignatureCheck {
  const url = new URL(jwksUrl)
  const jose = loadJose()
  const keys = jose.then(({ createRemoteJWKSet }) => createRemoteJWKSet(url))
  return async (headers, bodyDigest) => {
    const token = tokenIn(headers)
    if (token === undefined) throw refusal('The delivery carries no signed token')
    const { jwtVerify, errors } = await jose
    const expected = { ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) }
    const verified = await jwtVerify<SignedClaims>(token, await keys, {
      algorithms: ['ES256', 'RS256', 'EdDSA'],
      maxTokenAge: Math.ceil(maxAgeMs / 1000),
      clockTolerance: clockToleranceSeconds,
      ...expected,
    }).catch((error: unknown) => {
      if (isAboutToken(error, errors)) throw refusal(reasonOf(error, expected, errors), error)
      throw new A2AError('UNAVAILABLE', `The keys at ${clip(jwksUrl)} cannot be read`, { cause: error })
    })
    if (verified.payload.request_body_sha256 !== bodyDigest) throw refusal('The signed token is about another body')
    return verified.payload
  }
}

function refusal(reason: string, cause?: unknown): A2AError {
  return new A2AError('UNAUTHENTICATED', reason, { cause })
}

/** Names the given and the expected value, which jose's messages leave out. */
function reasonOf(
  error: errors.JOSEError,
  { issuer, audience }: Pick<PushSignatureOptions, 'issuer' | 'audience'>,
  { JWTClaimValidationFailed }: typeof errors,
): string {
  if (error instanceof JWTClaimValidationFailed) {
    const { iss = 'missing', aud = 'missing' } = error.payload
    if (error.claim === 'iss') return `The issuer of the signed token is ${clip(String(iss))}, expected ${issuer}`
    if (error.claim === 'aud') return `The audience of the signed token is ${clip(String(aud))}, expected ${audience}`
  }
  return `The signed token is invalid: ${clip(error.message)}`
}

function tokenIn(headers: Headers): string | undefined {
  const own = headers.get(deliveryTokenHeader)
  if (own !== null) return own
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '') ?? []
  return bearer
}

/** Everything else that can go wrong is about the set of keys, or about the way to it. */
function isAboutToken(
  error: unknown,
  { JOSEError, JWKSInvalid, JWKSTimeout }: typeof errors,
): error is errors.JOSEError {
  if (!(error instanceof JOSEError) || error instanceof JWKSInvalid || error instanceof JWKSTimeout) return false
  return error.code !== 'ERR_JOSE_GENERIC' // an answer that was no set of keys
}
