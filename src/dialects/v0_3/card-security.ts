/** Security schemes and requirements of cards, both ways. The protobuf spells them as v1.0 does, JSON as OpenAPI does. */
import type {
  APIKeySecurityScheme,
  HTTPAuthSecurityScheme,
  OAuth2SecurityScheme,
  OAuthFlows,
  OpenIdConnectSecurityScheme,
  SecurityRequirement,
  SecurityScheme,
} from '../../model/agent-card.js'
import {
  array,
  converted,
  type Decoder,
  type Fault,
  isObject,
  object,
  optional,
  refuse,
  required,
  string,
} from '../decode.js'
import type { Shape, Wire } from './spelling.js'

export function encodeScheme(scheme: SecurityScheme, shape: Shape): Wire {
  if ('oauth2SecurityScheme' in scheme) {
    const oauth2 = { ...scheme.oauth2SecurityScheme, flows: encodeFlows(scheme.oauth2SecurityScheme.flows) }
    return shape === 'json' ? { type: 'oauth2', ...oauth2 } : { oauth2SecurityScheme: oauth2 }
  }
  if (shape === 'proto') return scheme
  if ('apiKeySecurityScheme' in scheme) {
    const { location, ...rest } = scheme.apiKeySecurityScheme
    return { type: 'apiKey', in: location, ...rest }
  }
  if ('httpAuthSecurityScheme' in scheme) return { type: 'http', ...scheme.httpAuthSecurityScheme }
  if ('openIdConnectSecurityScheme' in scheme) return { type: 'openIdConnect', ...scheme.openIdConnectSecurityScheme }
  return { type: 'mutualTLS', ...scheme.mtlsSecurityScheme }
}

/** The device code flow has no form in 0.3: its scheme stays, so that requirements still name one that exists. */
function encodeFlows(flows: OAuthFlows): Wire {
  if ('authorizationCode' in flows) {
    const { pkceRequired: _pkceRequired, ...flow } = flows.authorizationCode
    return { authorizationCode: flow }
  }
  if ('clientCredentials' in flows) return { clientCredentials: flows.clientCredentials }
  // 0.3 needs what v1.0 leaves open.
  if ('implicit' in flows) return { implicit: { authorizationUrl: '', scopes: {}, ...flows.implicit } }
  if ('password' in flows) return { password: { tokenUrl: '', scopes: {}, ...flows.password } }
  return {}
}

export function encodeRequirement(requirement: SecurityRequirement, shape: Shape): Wire {
  if (shape === 'proto') return { ...requirement }
  const schemes = Object.entries(requirement.schemes ?? {})
  return Object.fromEntries(schemes.map(([name, { list = [] }]) => [name, list]))
}

/** Entries that cannot be read are left out: a card with a scheme of a later version is still a card. */
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
const scopes = required(mapOf(string))
const refreshUrl = optional(string)
const tokenUrl = required(string)

/** One flow is kept: the first in this order. */
const flowDecoders = Object.entries<Decoder<object>>({
  authorizationCode: object({ authorizationUrl: required(string), tokenUrl, refreshUrl, scopes }),
  clientCredentials: object({ tokenUrl, refreshUrl, scopes }),
  password: object({ tokenUrl: optional(string), refreshUrl, scopes: optional(mapOf(string)) }),
  implicit: object({ authorizationUrl: optional(string), refreshUrl, scopes: optional(mapOf(string)) }),
})

const flows: Decoder<OAuthFlows> = (value, faults) => {
  if (!isObject(value)) return refuse(faults, 'must be an object')
  for (const [name, decode] of flowDecoders) {
    const wire = value[name] ?? value[name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`)]
    if (wire === undefined || wire === null) continue
    const flow = decode(wire, faults)
    return flow && ({ [name]: flow } as unknown as OAuthFlows) // each name comes with the flow of its type
  }
  return refuse(faults, 'has no flow that is known')
}

/** 0.3's `type`, v1.0's member, and what is inside. */
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
  if (!isObject(value)) return refuse(faults, 'must be an object')
  for (const [type, member, decode] of schemeDecoders) {
    const inner = value.type === type ? value : value.type === undefined ? value[member] : undefined
    if (inner === undefined) continue
    const scheme = decode(inner, faults)
    return scheme && ({ [member]: scheme } as unknown as SecurityScheme) // each member comes with its own type
  }
  return refuse(faults, 'is of no type that is known')
}

const listed = mapOf(object<{ readonly list?: readonly string[] }>({ list: optional(array(string)) }))
const scoped = mapOf(converted(array(string), (list) => (list.length > 0 ? { list } : {})))

/** `{name: [scopes]}`, or the protobuf's `{schemes: {name: {list}}}`. */
export const securityRequirement: Decoder<SecurityRequirement> = (value, faults) => {
  const isListed = isObject(value) && isObject(value.schemes)
  const schemes = isListed ? listed(value.schemes, faults) : scoped(value, faults)
  return schemes && { schemes }
}
