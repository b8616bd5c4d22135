/** The shape of signatures; whether they are true is for those who have the keys (R-SIGN). */
import { isObject } from '../../model/is-object.js'
import { checkArray, checkObject, requireObject, requireText } from './checks.js'
import type { Place } from './place.js'

const longestHeader = 8192

export interface SignatureRules {
  /** The rule about members. */
  readonly shape: string
  /** The rule about the protected header; absent where a version has none. */
  readonly header?: string
}

export function checkSignatures(signatures: Place, rules: SignatureRules): void {
  for (const signature of checkArray(signatures, rules.shape)) {
    if (!requireObject(signature, rules.shape)) continue
    checkObject(signature.at('header'), rules.shape)
    checkBase64Url(signature.at('signature'), rules.shape)
    const isReadable = checkBase64Url(signature.at('protected'), rules.shape)
    if (isReadable && rules.header !== undefined) checkHeader(signature.at('protected'), rules.header)
  }
}

function checkBase64Url(place: Place, requirement: string): boolean {
  const text = requireText(place, requirement)
  if (!text) return false
  if (text.length <= longestHeader && /^[\w-]+$/.test(text)) return true
  place.error(requirement, 'must be base64url')
  return false
}

function checkHeader(place: Place, requirement: string): void {
  const header = parse(place.value as string) // which `checkBase64Url` has seen
  if (!isObject(header)) {
    place.error(requirement, 'must hold a JSON object')
    return
  }
  if (typeof header.alg !== 'string' || typeof header.kid !== 'string')
    place.error(requirement, 'must name alg and kid')
  if (header.alg === 'none') place.error('R-SIGN-6', 'names the algorithm none, which proves nothing')
  if (header.typ !== undefined && header.typ !== 'JOSE') place.warn(requirement, 'should have the typ JOSE')
}

function parse(base64Url: string): unknown {
  try {
    return JSON.parse(atob(base64Url.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}
