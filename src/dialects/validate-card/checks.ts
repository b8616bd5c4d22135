/** Checks of single values, shared by all versions. Each returns the value if further checks can use it. */
import { bindings } from '../../model/agent-card.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { isObject } from '../../model/is-object.js'
import { type Place, quote } from './place.js'

const maxUrlLength = 2048

/** Requires a string. An empty string is only a warning. */
export function requireText(place: Place, requirement: string): string | undefined {
  if (place.isAbsent) place.error(requirement, 'is required')
  else if (place.value === '') place.warn(requirement, 'is empty')
  return checkText(place, requirement)
}

export function checkText(place: Place, requirement: string): string | undefined {
  if (place.isAbsent) return undefined
  if (typeof place.value === 'string') return place.value
  place.error(requirement, 'must be a string')
  return undefined
}

export function checkFlag(place: Place, requirement: string): void {
  if (!place.isAbsent && typeof place.value !== 'boolean') place.error(requirement, 'must be true or false')
}

/** Reports a value that is not an object; returns whether it is one. */
export function requireObject(place: Place, requirement: string): boolean {
  if (isObject(place.value)) return true
  place.error(requirement, place.isAbsent ? 'is required' : 'must be an object')
  return false
}

export function checkObject(place: Place, requirement: string): boolean {
  return !place.isAbsent && requireObject(place, requirement)
}

/** Requires an array, not empty if `minimum` is 1. */
export function requireArray(place: Place, requirement: string, minimum: 0 | 1): readonly Place[] {
  if (place.isAbsent) place.error(requirement, 'is required')
  else if (Array.isArray(place.value) && place.value.length < minimum) place.error(requirement, 'must not be empty')
  return checkArray(place, requirement)
}

export function checkArray(place: Place, requirement: string): readonly Place[] {
  if (!place.isAbsent && !Array.isArray(place.value)) place.error(requirement, 'must be an array')
  return place.elements()
}

export function checkTexts(places: readonly Place[], requirement: string): void {
  for (const place of places) if (typeof place.value !== 'string') place.error(requirement, 'must be a string')
}

/** Checks media types, or the bare words that v0.1 cards have instead. */
export function checkModes(places: readonly Place[], requirement: string, words: readonly string[] = []): void {
  checkTexts(places, requirement)
  for (const place of places) {
    const { value } = place
    if (typeof value !== 'string' || words.includes(value)) continue
    if (!/^[\w!#$&^.+*-]{1,127}\/[\w!#$&^.+*-]{1,127}(\s*;[^\r\n]{0,500})?$/.test(value))
      place.warn(requirement, `${quote(value)} is not a media type such as text/plain`)
  }
}

export function requireUrl(place: Place, requirement: string): void {
  if (place.isAbsent || place.value === '') place.error(requirement, 'is required')
  else checkUrl(place, requirement)
}

/** Checks for an absolute http(s) address. */
export function checkUrl(place: Place, requirement: string): void {
  const url = urlOf(place, requirement)
  if (url && url.protocol !== 'https:' && url.protocol !== 'http:')
    place.error(requirement, `must begin with https://, not with ${quote(url.protocol)}`)
  else if (url?.protocol === 'http:' && !isNearby(url.hostname))
    place.warn('R-SEC-1', 'is not encrypted: use https outside of development')
}

function urlOf(place: Place, requirement: string): URL | undefined {
  const text = checkText(place, requirement)
  if (!text) return undefined
  const url = parseUrl(text)
  if (url) return url
  const description =
    text.length > maxUrlLength ? `is longer than ${maxUrlLength} characters` : 'must be an absolute URL'
  place.error(requirement, description)
  return undefined
}

function parseUrl(text: string): URL | undefined {
  return text.length <= maxUrlLength && canParseUrl(text) ? new URL(text) : undefined
}

/** Whether the host is local or in a private network. */
function isNearby(host: string): boolean {
  return (
    !host.includes('.') ||
    /^(127|10)\.|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\./.test(host) ||
    /\.(localhost|local|internal|test)$/.test(host)
  )
}

const grpcRule = ': gRPC clients dial a host and a port, and call fixed paths there'

/** A gRPC address is `host:port`; a URL is accepted too. */
export function checkGrpcAddress(place: Place, requirement: string): void {
  const text = requireText(place, requirement)
  if (text === undefined || isHostAndPort(text)) return
  if (parseUrl(text)?.host) place.warn(requirement, `should be host:port${grpcRule}`)
  else place.error(requirement, `must be host:port${grpcRule}`)
}

function isHostAndPort(text: string): boolean {
  const [, port] = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\]):(\d{1,5})$/i.exec(text) ?? []
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535
}

const knownBindings: readonly string[] = bindings

/** Checks for one of the three bindings, or for a URI, which cannot collide (R-CARD-3, R3-CARD-9). */
export function checkBinding(place: Place, requirement: string): void {
  const name = requireText(place, requirement)
  if (!name || knownBindings.includes(name) || /^[a-z][a-z\d+.-]*:\S+$/i.test(name.slice(0, maxUrlLength))) return
  const meant = knownBindings.find((known) => known === name.toUpperCase())
  if (meant) place.warn(requirement, `${quote(name)} should be spelled ${meant}`)
  else place.warn(requirement, `${quote(name)} is none of ${knownBindings.join(', ')} and no URI`)
}

/** Reports duplicate names. */
export function checkUnique(places: readonly Place[], requirement: string, what: string): void {
  const seen = new Set<unknown>()
  for (const place of places) {
    if (place.isAbsent) continue
    if (seen.has(place.value)) place.error(requirement, `is the ${what} of an earlier entry too`)
    seen.add(place.value)
  }
}

const deepest = 16
const maxValues = 5000
const maxScanLength = 4096

/** Names of members whose text is a credential. */
const secretName =
  /^(api[-_]?key|client[-_]?secret|secret|password|passwd|(access|refresh|id|auth)?[-_]?token|private[-_]?key|credentials?|authorization)$/i

/** A single word without spaces, like a credential; neither a URL nor JSON. */
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

/** Warns about secrets, without repeating them in the message. */
export function checkSecrets(card: Place, requirement: string): void {
  let left = maxValues
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
  const text = value.slice(0, maxScanLength)
  if (secretName.test(name.slice(0, 40)) && secretShape.test(text)) return true
  return secretValues.some((pattern) => pattern.test(text))
}

const maxHeaderLength = 8192

interface SignatureRules {
  /** The rule about the members. */
  readonly shape: string
  /** The rule about the protected header; absent if the version has none. */
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
  if (text.length <= maxHeaderLength && /^[\w-]+$/.test(text)) return true
  place.error(requirement, 'must be base64url')
  return false
}

function checkHeader(place: Place, requirement: string): void {
  const header = parse(place.value as string) // `checkBase64Url` has checked the type
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
