/** The rules of v1.0. */
import { isObject } from '../../model/is-object.js'
import {
  checkArray,
  checkBinding,
  checkFlag,
  checkGrpcAddress,
  checkModes,
  checkObject,
  checkSignatures,
  checkText,
  checkTexts,
  checkUnique,
  checkUrl,
  requireArray,
  requireObject,
  requireText,
  requireUrl,
} from './checks.js'
import { type Place, quote } from './place.js'
import { checkRequirementsOf1, checkSchemesOf1 } from './schemes.js'

/** Members of 0.3 that a card of v1.0 alone must not have (R-JSON-13). */
const formerMembers = ['protocolVersion', 'security', 'supportsAuthenticatedExtendedCard', 'authentication'] as const

export function checkV1(card: Place, { isHybrid }: { readonly isHybrid: boolean }): void {
  for (const name of ['name', 'description', 'version']) requireText(card.at(name), 'R-CARD-2')
  checkInterfaces(card.at('supportedInterfaces'))
  checkCapabilities(card, isHybrid)
  for (const name of ['defaultInputModes', 'defaultOutputModes'])
    checkModes(requireArray(card.at(name), 'R-CARD-2', 1), 'R-CARD-2')
  for (const name of ['documentationUrl', 'iconUrl']) checkUrl(card.at(name), 'R-CARD-2')
  if (checkObject(card.at('provider'), 'R-CARD-2')) {
    requireText(card.at('provider').at('organization'), 'R-CARD-2')
    requireUrl(card.at('provider').at('url'), 'R-CARD-2')
  }
  checkSchemesOf1(card.at('securitySchemes'))
  checkRequirementsOf1(card.at('securityRequirements'), card.at('securitySchemes'))
  checkSkills(card, isHybrid)
  checkSignatures(card.at('signatures'), { shape: 'R-SIGN-1', header: 'R-SIGN-4' })
  if (!isHybrid) checkNames(card)
}

function checkInterfaces(interfaces: Place): void {
  const entries = requireArray(interfaces, 'R-CARD-2', 1)
  const seen = new Set<string>()
  for (const entry of entries) {
    if (!requireObject(entry, 'R-CARD-2')) continue
    checkBinding(entry.at('protocolBinding'), 'R-CARD-3')
    const url = entry.at('url')
    if (entry.at('protocolBinding').value === 'GRPC') checkGrpcAddress(url, 'R-CARD-3')
    else requireUrl(url, 'R-CARD-3')
    checkText(entry.at('tenant'), 'R-TEN-1')
    checkVersion(entry.at('protocolVersion'))
    const key = JSON.stringify(
      ['url', 'protocolBinding', 'protocolVersion', 'tenant'].map((name) => textAt(entry, name)),
    )
    if (seen.has(key)) entry.warn('R-CARD-3', 'says the same as an earlier entry')
    seen.add(key)
  }
}

function textAt(place: Place, name: string): string {
  const { value } = place.at(name)
  return typeof value === 'string' ? value.slice(0, 4096) : ''
}

/** Patch numbers have no meaning, so versions should not contain them (R-VER-5). */
function checkVersion(place: Place): void {
  const version = requireText(place, 'R-CARD-2')
  if (!version || /^\d{1,4}\.\d{1,4}$/.test(version)) return
  if (/^\d{1,4}\.\d{1,4}\.\d/.test(version)) place.warn('R-VER-5', `${quote(version)} should be Major.Minor only`)
  else place.error('R-CARD-3', `${quote(version)} is not Major.Minor, such as 1.0`)
}

function checkCapabilities(card: Place, isHybrid: boolean): void {
  const capabilities = card.at('capabilities')
  if (!requireObject(capabilities, 'R-CARD-2')) return
  for (const name of ['streaming', 'pushNotifications', 'extendedAgentCard'])
    checkFlag(capabilities.at(name), 'R-CARD-2')
  checkExtensions(capabilities.at('extensions'), 'R-EXT-1')
  if (capabilities.at('extendedAgentCard').value === true && !card.has('securitySchemes'))
    capabilities.at('extendedAgentCard').warn('R-XCARD-3', 'needs authentication, and the card declares no scheme')
  if (!isHybrid && capabilities.has('stateTransitionHistory'))
    capabilities.at('stateTransitionHistory').error('R-JSON-13', 'is a member of 0.3 and not of v1.0')
}

export function checkExtensions(extensions: Place, requirement: string): void {
  const entries = checkArray(extensions, requirement)
  for (const extension of entries) {
    if (!requireObject(extension, requirement)) continue
    const uri = extension.at('uri')
    if (uri.isAbsent || uri.value === '') uri.error(requirement, 'is required')
    else if (checkText(uri, requirement) && !/^[a-z][a-z\d+.-]*:./i.test((uri.value as string).slice(0, 100)))
      uri.warn(requirement, 'is not a URI')
    checkText(extension.at('description'), requirement)
    checkFlag(extension.at('required'), requirement)
    checkObject(extension.at('params'), requirement)
  }
  checkUnique(
    entries.map((entry) => entry.at('uri')),
    requirement,
    'uri',
  )
}

function checkSkills(card: Place, isHybrid: boolean): void {
  const skills = requireArray(card.at('skills'), 'R-CARD-2', 1)
  for (const skill of skills) {
    if (!requireObject(skill, 'R-CARD-2')) continue
    for (const name of ['id', 'name', 'description']) requireText(skill.at(name), 'R-CARD-2')
    checkTexts(requireArray(skill.at('tags'), 'R-CARD-2', 1), 'R-CARD-2')
    checkTexts(checkArray(skill.at('examples'), 'R-CARD-2'), 'R-CARD-2')
    for (const name of ['inputModes', 'outputModes']) checkModes(checkArray(skill.at(name), 'R-CARD-2'), 'R-CARD-2')
    checkRequirementsOf1(skill.at('securityRequirements'), card.at('securitySchemes'))
    if (!isHybrid && skill.has('security'))
      skill.at('security').error('R-JSON-13', 'is a member of 0.3 and not of v1.0')
  }
  checkUnique(
    skills.map((skill) => skill.at('id')),
    'R-CARD-2',
    'id',
  )
}

function checkNames(card: Place): void {
  for (const name of formerMembers)
    if (card.has(name)) card.at(name).error('R-JSON-13', 'is a member of 0.3 and not of v1.0')
  if (!isObject(card.value)) return
  for (const name of Object.keys(card.value).slice(0, 100))
    if (/^[a-z]{1,40}(_[a-z]{1,40}){1,5}$/.test(name)) card.at(name).error('R-JSON-1', 'is not spelled in camelCase')
}
