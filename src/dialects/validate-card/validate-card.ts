import { isObject } from '../../model/is-object.js'
import { checkSecrets } from './checks.js'
import { type CardReport, type CardVersion, Findings, Place } from './place.js'
import { checkV01, checkV03 } from './v0_3.js'
import { checkV1 } from './v1.js'

/**
 * Checks an Agent Card of any version by the rules of that version; a hybrid card by those of both. Accepts any JSON
 * value and never throws. The work and the report have limits.
 *
 * ```ts
 * const { isValid, problems } = validateCard(await response.json())
 * ```
 */
export function validateCard(card: unknown): CardReport {
  const findings = new Findings()
  const place = new Place(card, '', findings)
  if (!isObject(card)) {
    place.error('R-CARD-2', 'A card is a JSON object')
    return findings.report('unknown')
  }
  const version = cardVersion(place)
  if (version === 'v0.1') checkV01(place)
  else if (version === 'v0.2') checkV03(place, '0.2')
  else if (version === 'v0.3') checkV03(place, '0.3')
  else {
    // A card without a version is checked by the rules of the newest.
    checkV1(place, { isHybrid: version === 'hybrid' })
    if (version === 'hybrid') checkV03(place, '0.3')
  }
  checkSecrets(place, version.startsWith('v0') ? 'R3-CARD-8' : 'R-CARD-7')
  return findings.report(version)
}

/** The version whose rules apply: the one the author intended, even if the card is not readable in it. */
function cardVersion(card: Place): CardVersion {
  const hasAny = (...names: string[]) => names.some((name) => card.has(name))
  if (hasAny('supportedInterfaces', 'supported_interfaces'))
    return hasAny('url', 'preferredTransport', 'additionalInterfaces') ? 'hybrid' : 'v1'
  const { value } = card.at('protocolVersion')
  const protocolVersion = typeof value === 'string' ? value.slice(0, 20) : ''
  if (/^[1-9]/.test(protocolVersion)) return 'v1'
  if (/^0\.1(\.|$)/.test(protocolVersion)) return 'v0.1'
  if (/^0\.2(\.|$)/.test(protocolVersion)) return 'v0.2'
  if (card.has('protocolVersion')) return hasAny('url') || protocolVersion.startsWith('0.3') ? 'v0.3' : 'unknown'
  if (hasAny('securitySchemes', 'preferredTransport', 'additionalInterfaces')) return hasAny('url') ? 'v0.2' : 'unknown'
  return hasAny('url', 'authentication', 'iconUri') ? 'v0.1' : 'unknown'
}
