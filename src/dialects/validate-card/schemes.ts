/** Security schemes and requirements in v1.0's form and in 0.3's. */
import { isObject } from '../../model/is-object.js'
import {
  checkArray,
  checkObject,
  checkText,
  checkTexts,
  checkUrl,
  requireObject,
  requireText,
  requireUrl,
} from './checks.js'
import { type Place, quote } from './place.js'

/** Checks one kind of scheme. `requirement` is the rule about required members. */
type Check = (scheme: Place, requirement: string) => void

function apiKey(locationName: string): Check {
  return (scheme, requirement) => {
    requireText(scheme.at('name'), requirement)
    const location = requireText(scheme.at(locationName), requirement)
    if (location && !['query', 'header', 'cookie'].includes(location))
      scheme.at(locationName).error(requirement, 'must be query, header or cookie')
  }
}

const http: Check = (scheme, requirement) => {
  requireText(scheme.at('scheme'), requirement)
  checkText(scheme.at('bearerFormat'), requirement)
}

const openIdConnect: Check = (scheme, requirement) => requireUrl(scheme.at('openIdConnectUrl'), requirement)

const nothing: Check = () => undefined

/** The required members of a flow. */
interface Flow {
  readonly urls: readonly string[]
  /** In v1.0, deprecated flows may be incomplete. */
  readonly isDeprecated?: boolean
}

const flowsOf1: Readonly<Record<string, Flow>> = {
  authorizationCode: { urls: ['authorizationUrl', 'tokenUrl'] },
  clientCredentials: { urls: ['tokenUrl'] },
  deviceCode: { urls: ['deviceAuthorizationUrl', 'tokenUrl'] },
  implicit: { urls: [], isDeprecated: true },
  password: { urls: [], isDeprecated: true },
}

const flowsOf03: Readonly<Record<string, Flow>> = {
  authorizationCode: { urls: ['authorizationUrl', 'tokenUrl'] },
  clientCredentials: { urls: ['tokenUrl'] },
  implicit: { urls: ['authorizationUrl'] },
  password: { urls: ['tokenUrl'] },
}

const everyUrl = ['authorizationUrl', 'tokenUrl', 'deviceAuthorizationUrl', 'refreshUrl'] as const

function oauth2(known: Readonly<Record<string, Flow>>, oneofRule?: string): Check {
  return (scheme, requirement) => {
    if (!scheme.at('oauth2MetadataUrl').isAbsent) checkUrl(scheme.at('oauth2MetadataUrl'), requirement)
    const flows = scheme.at('flows')
    if (!requireObject(flows, requirement)) return
    const present = Object.keys(known).filter((name) => flows.has(name))
    if (present.length === 0) flows.error(requirement, `must have one of ${Object.keys(known).join(', ')}`)
    if (present.length > 1 && oneofRule !== undefined)
      flows.error(oneofRule, `must have only one of ${present.join(', ')}`)
    for (const name of present) checkFlow(flows.at(name), known[name] as Flow, requirement) // `present` has known names
  }
}

function checkFlow(flow: Place, { urls, isDeprecated }: Flow, requirement: string): void {
  if (!requireObject(flow, requirement)) return
  if (isDeprecated) flow.warn(requirement, 'is a flow that the protocol advises against')
  for (const name of everyUrl) {
    if (urls.includes(name)) requireUrl(flow.at(name), requirement)
    else if (flow.has(name)) checkUrl(flow.at(name), requirement)
  }
  const scopes = flow.at('scopes')
  if (isDeprecated ? checkObject(scopes, requirement) : requireObject(scopes, requirement))
    checkTexts(
      scopes.members().map(([, description]) => description),
      requirement,
    )
}

const kindsOf1: Readonly<Record<string, Check>> = {
  apiKeySecurityScheme: apiKey('location'),
  httpAuthSecurityScheme: http,
  oauth2SecurityScheme: oauth2(flowsOf1, 'R-JSON-7'),
  openIdConnectSecurityScheme: openIdConnect,
  mtlsSecurityScheme: nothing,
}

const kindsOf03: Readonly<Record<string, Check>> = {
  apiKey: apiKey('in'),
  http,
  oauth2: oauth2(flowsOf03),
  openIdConnect,
  mutualTLS: nothing,
}

/** v1.0: exactly one member determines the kind of a scheme (R-JSON-7). */
export function checkSchemesOf1(schemes: Place): void {
  checkObject(schemes, 'R-CARD-2')
  for (const [, scheme] of schemes.members()) {
    if (!requireObject(scheme, 'R-CARD-2')) continue
    const present = Object.keys(kindsOf1).filter((name) => scheme.has(name))
    if (present.length === 0) {
      const hint = scheme.has('type') ? '; `type` is how 0.3 says it' : ''
      scheme.error('R-JSON-7', `must have one of ${Object.keys(kindsOf1).join(', ')}${hint}`)
    }
    if (present.length > 1) scheme.error('R-JSON-7', `must have only one of ${present.join(', ')}`)
    for (const name of present) {
      const kind = scheme.at(name)
      if (requireObject(kind, 'R-CARD-2')) kindsOf1[name]?.(kind, 'R-CARD-2')
    }
  }
}

/** 0.3: `type` determines the kind of a scheme. */
export function checkSchemesOf03(schemes: Place): void {
  checkObject(schemes, 'R3-CARD-1')
  for (const [, scheme] of schemes.members()) {
    if (!requireObject(scheme, 'R3-CARD-1')) continue
    const type = requireText(scheme.at('type'), 'R3-CARD-1')
    if (!type) continue
    if (Object.hasOwn(kindsOf03, type)) kindsOf03[type]?.(scheme, 'R3-CARD-1')
    else scheme.at('type').error('R3-CARD-1', `must be one of ${Object.keys(kindsOf03).join(', ')}`)
  }
}

/** Every required scheme must exist. v1.0: `{ schemes: { name: { list: [scope] } } }`. */
export function checkRequirementsOf1(requirements: Place, schemes: Place): void {
  for (const requirement of checkArray(requirements, 'R-SEC-2')) {
    if (!requireObject(requirement, 'R-SEC-2')) continue
    const named = requirement.at('schemes')
    if (named.isAbsent) {
      if (Object.keys(requirement.value as object).length > 0)
        requirement.error('R-SEC-2', 'must name its schemes in `schemes`')
      continue
    }
    if (!requireObject(named, 'R-SEC-2')) continue
    for (const [name, scopes] of named.members()) {
      checkExists(scopes, name, { schemes, rule: 'R-SEC-2' })
      if (Array.isArray(scopes.value)) scopes.error('R-SEC-2', 'must be an object with a `list`; the bare list is 0.3')
      else if (checkObject(scopes, 'R-SEC-2')) checkTexts(checkArray(scopes.at('list'), 'R-SEC-2'), 'R-SEC-2')
    }
  }
}

/** 0.3: `{ name: [scope] }`. */
export function checkRequirementsOf03(requirements: Place, schemes: Place): void {
  for (const requirement of checkArray(requirements, 'R3-SEC-1')) {
    if (!requireObject(requirement, 'R3-SEC-1')) continue
    for (const [name, scopes] of requirement.members()) {
      checkExists(scopes, name, { schemes, rule: 'R3-SEC-1' })
      if (Array.isArray(scopes.value)) checkTexts(scopes.elements(), 'R3-SEC-1')
      else scopes.error('R3-SEC-1', 'must be a list of scopes')
    }
  }
}

function checkExists(place: Place, name: string, { schemes, rule }: { schemes: Place; rule: string }): void {
  const exists = isObject(schemes.value) && Object.hasOwn(schemes.value, name)
  if (!exists) place.error(rule, `names the scheme ${quote(name)}, which securitySchemes does not have`)
}
