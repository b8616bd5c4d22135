/** Cards are public: values in them that look like credentials (R-CARD-7). */
import { isObject } from '../../model/is-object.js'
import type { Place } from './place.js'

const deepest = 16
const mostValues = 5000
const longestScan = 4096

/** Members whose text is a credential by their name. */
const secretName =
  /^(api[-_]?key|client[-_]?secret|secret|password|passwd|(access|refresh|id|auth)?[-_]?token|private[-_]?key|credentials?|authorization)$/i

/** A single word with no spaces, as credentials are; neither a URL nor JSON. */
const secretShape = /^[\w+/=.~-]{8,}$/

const secretValues = [
  /-----BEGIN [A-Z ]{0,20}PRIVATE KEY/,
  /\b(Bearer|Basic) [\w+/=.~-]{16,}/i,
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/,
  /\b(AKIA|ASIA)[A-Z\d]{16}\b/,
  /\bAIza[\w-]{35}/,
  /\bgh[pousr]_[A-Za-z\d]{30,}/,
  /\bsk-[\w-]{20,}/,
  /\bxox[abprs]-[\w-]{10,}/,
  /^[a-z][a-z\d+.-]{0,20}:\/\/[^/\s@:]{1,200}:[^/\s@]{1,200}@/i,
]

/** Warns without ever repeating what was found. */
export function checkSecrets(card: Place, requirement: string): void {
  let left = mostValues
  function visit(place: Place, name: string, depth: number): void {
    if (left-- <= 0 || depth > deepest) return
    if (typeof place.value === 'string') {
      if (isSecret(name, place.value)) place.warn(requirement, 'looks like a credential, and cards are public')
    } else if (Array.isArray(place.value)) {
      for (const element of place.elements()) visit(element, name, depth + 1)
    } else if (isObject(place.value)) {
      for (const [member, each] of place.members()) visit(each, member, depth + 1)
    }
  }
  visit(card, '', 0)
}

function isSecret(name: string, value: string): boolean {
  const text = value.slice(0, longestScan)
  if (secretName.test(name.slice(0, 40)) && secretShape.test(text)) return true
  return secretValues.some((pattern) => pattern.test(text))
}
