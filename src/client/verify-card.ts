/**
 * Verifies signatures of cards (R-SIGN-6). A key is trusted if the user passed it, or if it is published at the origin of the
 * card or at an origin in `keyOrigins`. Signatures with other keys prove nothing.
 */
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { TransportError } from '../model/transport-error.js'
import {
  type CheckOptions,
  type Signature,
  type SignedCard,
  signaturePolicies,
  type Verification,
  type VerifyOptions,
} from './verification.js'

const optionNames = {
  policy: signaturePolicies,
  keys: true,
  keyOrigins: true,
  forms: true,
  allowPrivate: 'boolean',
  fetch: true,
  signal: true,
} satisfies NamesOf<VerifyOptions>

/**
 * Verifies the signatures of a card. Throws `TransportError` with `failure: 'refused'` if the policy is `require` and no
 * signature is valid.
 *
 * ```ts
 * const { state, keyId } = await verifyCard({ raw: card, origin: 'https://agent.example' })
 * ```
 */
export async function verifyCard(card: SignedCard, options: VerifyOptions = {}): Promise<Verification> {
  assertOptions('verifyCard', options, optionNames)
  return await verifySignatures(card, options)
}

/** As `verifyCard`, with the options that only `connect` and tests set. */
export async function verifySignatures(card: SignedCard, options: CheckOptions): Promise<Verification> {
  const { policy = 'warn' } = options
  const signatures = signaturesOf(card.raw)
  if (policy === 'ignore')
    return { state: signatures.length > 0 ? 'unknown-key' : 'absent', reason: 'Signatures were not checked' }
  const found: Verification =
    signatures.length === 0
      ? { state: 'absent', reason: 'The card is not signed' }
      : await (await import('./check-signatures.js')).checkSignatures(signatures, card, options)
  if (found.state !== 'valid') {
    if (policy === 'require') throw new TransportError('refused', `A signed card is required: ${found.reason}`)
    return { ...found, ...(found.reason !== undefined && { warning: found.reason }) }
  }
  return found.form === 'strict' ? found : { ...found, warning: `The card is signed in the form ${found.form}` }
}

const maxSignatures = 8

function signaturesOf(raw: unknown): readonly Signature[] {
  const listed: unknown = isObject(raw) ? raw.signatures : undefined
  if (!Array.isArray(listed)) return []
  return listed
    .slice(0, maxSignatures)
    .filter(
      (each): each is Record<string, unknown> & Signature =>
        isObject(each) && typeof each.protected === 'string' && typeof each.signature === 'string',
    )
}
