/** The rules of 0.3, and of 0.2 without later members. */
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
import { checkRequirementsOf03, checkSchemesOf03 } from './schemes.js'
import { checkExtensions } from './v1.js'

const rule = 'R3-CARD-1'

export function checkV03(card: Place, family: '0.3' | '0.2'): void {
  for (const name of ['name', 'description', 'version']) requireText(card.at(name), rule)
  checkProtocolVersion(card.at('protocolVersion'), family)
  checkTransports(card, family)
  checkCapabilitiesOf03(card.at('capabilities'), rule)
  for (const name of ['defaultInputModes', 'defaultOutputModes'])
    checkModes(requireArray(card.at(name), rule, 0), rule, ['text', 'data', 'file'])
  for (const name of ['documentationUrl', 'iconUrl']) checkUrl(card.at(name), rule)
  checkProvider(card.at('provider'))
  checkFlag(card.at('supportsAuthenticatedExtendedCard'), 'R3-CARD-6')
  checkSchemesOf03(card.at('securitySchemes'))
  checkRequirementsOf03(card.at('security'), card.at('securitySchemes'))
  checkSkills(card)
  checkSignatures(card.at('signatures'), { shape: 'R3-CARD-7' })
}

/** 0.2 introduced the member in 0.2.5. */
function checkProtocolVersion(place: Place, family: '0.3' | '0.2'): void {
  if (place.isAbsent && family === '0.2') return
  const version = requireText(place, rule)
  if (version && !/^0\.[23](\.|$)/.test(version.slice(0, 20)))
    place.error(rule, `is ${quote(version)} in a card of ${family}`)
}

function checkTransports(card: Place, family: '0.3' | '0.2'): void {
  const transport = card.at('preferredTransport')
  if (!transport.isAbsent) checkBinding(transport, 'R3-CARD-2')
  else if (family === '0.3')
    transport.error('R3-CARD-2', 'is required: name the transport at `url`; readers without it assume JSONRPC')
  checkAddress(card.at('url'), transport.value)
  const others = checkArray(card.at('additionalInterfaces'), rule)
  for (const entry of others) {
    if (!requireObject(entry, rule)) continue
    checkBinding(entry.at('transport'), 'R3-CARD-9')
    checkAddress(entry.at('url'), entry.at('transport').value)
  }
  checkTogether(card, others)
}

function checkAddress(url: Place, transport: unknown): void {
  const isAddress = transport === 'GRPC' && typeof url.value === 'string' && !url.value.includes('://')
  if (isAddress) checkGrpcAddress(url, rule)
  else requireUrl(url, rule)
}

/** Consistency of the main entry and the additional interfaces (R3-CARD-3, R3-CARD-4). */
function checkTogether(card: Place, others: readonly Place[]): void {
  const main = { url: card.at('url').value, transport: card.at('preferredTransport').value ?? 'JSONRPC' }
  const entries = others.map((entry) => ({ entry, url: entry.at('url').value, transport: entry.at('transport').value }))
  const isMain = (each: { url: unknown; transport: unknown }) =>
    each.url === main.url && each.transport === main.transport
  if (entries.length > 0 && !entries.some(isMain))
    card.at('additionalInterfaces').warn('R3-CARD-3', 'should list the main address and its transport too')
  const transports = new Map<unknown, unknown>([[main.url, main.transport]])
  for (const { entry, url, transport } of entries) {
    const first = transports.get(url)
    if (first === undefined) transports.set(url, transport)
    else if ((first === 'GRPC') !== (transport === 'GRPC') && hasPath(url))
      entry.error(
        'R3-CARD-4',
        'names one URL with a path for gRPC and another transport. gRPC calls fixed paths of the host and ignores ' +
          'the path of the URL: write https://host:port or host:port for GRPC',
      )
  }
}

/** gRPC's paths are fixed: it may share a host with other bindings, but not a path. */
function hasPath(url: unknown): boolean {
  return typeof url === 'string' && /^[a-z]{1,10}:\/\/[^/]{1,300}\/./i.test(url)
}

/** v0.1 has the same capabilities, except extensions. */
function checkCapabilitiesOf03(capabilities: Place, requirement: string): void {
  if (!requireObject(capabilities, requirement)) return
  for (const name of ['streaming', 'pushNotifications', 'stateTransitionHistory'])
    checkFlag(capabilities.at(name), requirement)
  checkExtensions(capabilities.at('extensions'), requirement)
}

function checkProvider(provider: Place): void {
  if (!checkObject(provider, rule)) return
  requireText(provider.at('organization'), rule)
  requireUrl(provider.at('url'), rule)
}

function checkSkills(card: Place): void {
  const skills = requireArray(card.at('skills'), rule, 1)
  for (const skill of skills) {
    if (!requireObject(skill, rule)) continue
    for (const name of ['id', 'name', 'description']) requireText(skill.at(name), rule)
    checkTexts(requireArray(skill.at('tags'), rule, 0), rule)
    checkTexts(checkArray(skill.at('examples'), rule), rule)
    for (const name of ['inputModes', 'outputModes'])
      checkModes(checkArray(skill.at(name), rule), rule, ['text', 'data', 'file'])
    checkRequirementsOf03(skill.at('security'), card.at('securitySchemes'))
  }
  checkUnique(
    skills.map((skill) => skill.at('id')),
    rule,
    'id',
  )
}

const ruleOf01 = 'RL-02-1'
const words = ['text', 'data', 'file'] as const

export function checkV01(card: Place): void {
  for (const name of ['name', 'version']) requireText(card.at(name), ruleOf01)
  checkText(card.at('description'), ruleOf01)
  requireUrl(card.at('url'), ruleOf01)
  checkUrl(card.at('documentationUrl'), ruleOf01)
  checkCapabilitiesOf03(card.at('capabilities'), ruleOf01)
  for (const name of ['defaultInputModes', 'defaultOutputModes'])
    checkModes(checkArray(card.at(name), ruleOf01), ruleOf01, words)
  if (checkObject(card.at('provider'), ruleOf01)) {
    requireText(card.at('provider').at('organization'), ruleOf01)
    checkUrl(card.at('provider').at('url'), ruleOf01)
  }
  const authentication = card.at('authentication')
  if (checkObject(authentication, ruleOf01)) {
    checkTexts(requireArray(authentication.at('schemes'), ruleOf01, 0), ruleOf01)
    checkText(authentication.at('credentials'), ruleOf01)
  }
  checkSkillsOf01(requireArray(card.at('skills'), ruleOf01, 0))
}

function checkSkillsOf01(skills: readonly Place[]): void {
  for (const skill of skills) {
    if (!requireObject(skill, ruleOf01)) continue
    for (const name of ['id', 'name']) requireText(skill.at(name), ruleOf01)
    checkText(skill.at('description'), ruleOf01)
    for (const name of ['tags', 'examples']) checkTexts(checkArray(skill.at(name), ruleOf01), ruleOf01)
    for (const name of ['inputModes', 'outputModes']) checkModes(checkArray(skill.at(name), ruleOf01), ruleOf01, words)
  }
  checkUnique(
    skills.map((skill) => skill.at('id')),
    ruleOf01,
    'id',
  )
}
