/**
 * Security schemes and requirements of cards: in the form of v1.0 and the protobufs, and in 0.3's JSON, which follows
 * OpenAPI.
 */
import type {
  AgentCard,
  APIKeySecurityScheme,
  HTTPAuthSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from '../model/agent-card.js'
import { isObject } from '../model/is-object.js'
import {
  array,
  boolean,
  converted,
  type Decoder,
  type Fault,
  object,
  optional,
  refuse,
  required,
  string,
} from './decode.js'

/** Drops entries that cannot be decoded: a scheme of a later version must not make the card unreadable. */
export function mapOf<T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value, faults) => {
    if (!isObject(value)) return refuse(faults, 'must be an object')
    const entries: [string, T][] = []
    for (const [name, each] of Object.entries(value)) {
      const own: Fault[] = []
      const read = name === '__proto__' ? undefined : decode(each, own)
      if (read !== undefined && own.length === 0) entries.push([name, read])
    }
    return Object.fromEntries(entries)
  }
}

const description = optional(string)
const scopes = optional(mapOf(string))
const refreshUrl = optional(string)
const tokenUrl = required(string)

/** gRPC does not distinguish a flow with empty scopes from one without scopes. */
function scoped<F extends { readonly scopes?: object }>(decode: Decoder<F>): Decoder<F> {
  return converted(decode, (flow) => (flow.scopes ? flow : { ...flow, scopes: {} }))
}

const flowDecoders = Object.entries<Decoder<object>>({
  authorizationCode: scoped(
    object({ authorizationUrl: required(string), tokenUrl, refreshUrl, scopes, pkceRequired: optional(boolean) }),
  ),
  clientCredentials: scoped(object({ tokenUrl, refreshUrl, scopes })),
  deviceCode: scoped(object({ deviceAuthorizationUrl: required(string), tokenUrl, refreshUrl, scopes })),
  password: object({ tokenUrl: optional(string), refreshUrl, scopes }),
  implicit: object({ authorizationUrl: optional(string), refreshUrl, scopes }),
})

const flows: Decoder<OAuthFlows> = (value, faults) => {
  const wire = unwrapped(value, 'flow')
  if (!isObject(wire)) return refuse(faults, 'must be an object')
  const found: [string, object][] = []
  let faulty: readonly Fault[] | undefined
  for (const [name, decode] of flowDecoders) {
    const inner = memberOf(wire, name)
    if (inner === undefined) continue
    const own: Fault[] = []
    const flow = decode(inner, own)
    if (flow && own.length === 0) found.push([name, flow])
    else faulty ??= own
  }
  if (found.length > 0) return Object.fromEntries(found) as OAuthFlows // each name has the flow of its type
  if (!faulty) return refuse(faults, 'has no known flow')
  faults.push(...faulty)
  return undefined
}

/** The official JavaScript SDK wraps `oneof` members of cards in objects of its own. */
function unwrapped(value: unknown, wrapper: string): unknown {
  const inner = isObject(value) ? value[wrapper] : undefined
  return isObject(inner) && typeof inner.$case === 'string' ? { [inner.$case]: inner.value } : value
}

function memberOf(value: Record<string, unknown>, name: string): unknown {
  return value[name] ?? value[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] ?? undefined
}

/** 0.3's `type`, v1.0's member, and the decoder of the scheme. */
const schemeDecoders: readonly (readonly [string, string, Decoder<object>])[] = [
  [
    'apiKey',
    'apiKeySecurityScheme',
    object<APIKeySecurityScheme>(
      { description, location: required(string), name: required(string) },
      { aliases: { location: ['in'] } },
    ),
  ],
  [
    'http',
    'httpAuthSecurityScheme',
    object<HTTPAuthSecurityScheme>({ description, scheme: required(string), bearerFormat: optional(string) }),
  ],
  [
    'oauth2',
    'oauth2SecurityScheme',
    object<OAuth2SecurityScheme>({ description, flows: required(flows), oauth2MetadataUrl: optional(string) }),
  ],
  [
    'openIdConnect',
    'openIdConnectSecurityScheme',
    object<OpenIdConnectSecurityScheme>({ description, openIdConnectUrl: required(string) }),
  ],
  ['mutualTLS', 'mtlsSecurityScheme', object<{ readonly description?: string }>({ description })],
]

export const securityScheme: Decoder<SecurityScheme> = (value, faults) => {
  const wire = unwrapped(value, 'scheme')
  if (!isObject(wire)) return refuse(faults, 'must be an object')
  for (const [type, member, decode] of schemeDecoders) {
    const inner = memberOf(wire, member) ?? (wire.type === type ? wire : undefined)
    if (inner === undefined) continue
    const scheme = decode(inner, faults)
    return scheme && ({ [member]: scheme } as unknown as SecurityScheme) // each member has its own type
  }
  return refuse(faults, 'has no known type')
}

const scopeList = array(string)

/** `["scope"]`, or `{list: ["scope"]}`. Unreadable scopes count as empty: the scheme is still required. */
function scopesOf(value: unknown): { readonly list?: readonly string[] } {
  const faults: Fault[] = []
  const list = scopeList(isObject(value) ? value.list : value, faults)
  return faults.length === 0 && list && list.length > 0 ? { list } : {}
}

/**
 * `{name: [scopes]}`, the protobuf's `{schemes: {name: {list}}}`, or the Go SDK's `{schemes: {name: [scopes]}}`. Every
 * name is kept: without one of them the requirement would be weaker than the agent's.
 */
export const securityRequirement: Decoder<SecurityRequirement> = (value, faults) => {
  if (!isObject(value)) return refuse(faults, 'must be an object')
  const { schemes = value } = value
  const named = schemes === null ? {} : isObject(schemes) ? schemes : value
  if (Object.hasOwn(named, '__proto__')) return refuse(faults, 'is not an allowed name', '__proto__')
  return { schemes: Object.fromEntries(Object.entries(named).map(([name, scopes]) => [name, scopesOf(scopes)])) }
}

/** The number of combinations grows exponentially with the schemes of a requirement, and cards are untrusted. */
const maxAlternatives = 32

export function withSingleFlows(card: AgentCard): AgentCard {
  const { securitySchemes = {}, securityRequirements, skills } = card
  const split = new Map(
    Object.entries(securitySchemes).map(([name, scheme]) => [name, splitScheme(name, scheme, card)]),
  )
  if ([...split.values()].every((schemes) => schemes.length === 1)) return card
  const namesOf = (name: string) => split.get(name)?.map(([each]) => each) ?? [name]
  const each = (requirements: readonly SecurityRequirement[]) =>
    requirements.flatMap((one) => alternatives(one, namesOf))
  return {
    ...card,
    securitySchemes: Object.fromEntries([...split.values()].flat()),
    ...(securityRequirements && { securityRequirements: each(securityRequirements) }),
    skills: skills.map((skill) =>
      skill.securityRequirements ? { ...skill, securityRequirements: each(skill.securityRequirements) } : skill,
    ),
  }
}

/** The first flow keeps the name of the scheme. */
function splitScheme(name: string, scheme: SecurityScheme, { securitySchemes = {} }: AgentCard) {
  const flows = 'oauth2SecurityScheme' in scheme ? Object.entries(scheme.oauth2SecurityScheme.flows) : []
  if (!('oauth2SecurityScheme' in scheme) || flows.length < 2) return [[name, scheme] as const]
  return flows.map(([flow, content], place) => {
    const one: SecurityScheme = { oauth2SecurityScheme: { ...scheme.oauth2SecurityScheme, flows: { [flow]: content } } }
    return [place === 0 ? name : freeName(`${name}-${flow}`, securitySchemes), one] as const
  })
}

function freeName(name: string, taken: object): string {
  return Object.hasOwn(taken, name) ? freeName(`${name}-`, taken) : name
}

/** One requirement for each combination of flows. Beyond the limit, only the first flow of each scheme remains. */
function alternatives(
  requirement: SecurityRequirement,
  namesOf: (name: string) => readonly string[],
): readonly SecurityRequirement[] {
  const entries = Object.entries(requirement.schemes ?? {})
  let count = 1
  for (const [name] of entries) {
    count *= namesOf(name).length
    if (count > maxAlternatives) return [requirement]
  }
  return Array.from({ length: count }, (_, place) => {
    let rest = place
    const chosen = entries.map(([name, scopes]) => {
      const names = namesOf(name)
      const one = names[rest % names.length] as string // a scheme has at least one name
      rest = Math.floor(rest / names.length)
      return [one, scopes] as const
    })
    return { schemes: Object.fromEntries(chosen) }
  })
}
