/** Encoding of 0.3 cards, and of the hybrid card that 0.3 and v1.0 readers understand. */
import type {
  AgentCard,
  AgentInterface,
  AgentSkill,
  OAuthFlows,
  SecurityRequirement,
  SecurityScheme,
} from '../../model/agent-card.js'
import { withSingleFlows } from '../security.js'
import type { Shape, Wire } from './wire-form.js'

const version = '0.3'

/** The 0.3 card; absent when the agent cannot be reached in 0.3 (RM-CARD-1). */
export function encodeCard(card: AgentCard): Wire | undefined {
  return encode(card, 'json')
}

/** The same in the protobuf's shape. */
export function encodeProtoCard(card: AgentCard): Wire | undefined {
  return encode(withSingleFlows(card), 'proto')
}

function encode(card: AgentCard, shape: Shape): Wire | undefined {
  // 0.3 has no tenants, so an interface that needs one cannot be listed.
  const interfaces = card.supportedInterfaces.filter((each) => isOf(version, each) && !each.tenant)
  const [main] = interfaces
  if (!main) return undefined
  const { capabilities, securitySchemes, securityRequirements } = card
  return {
    protocolVersion: `${version}.0`,
    name: card.name,
    description: card.description,
    url: main.url,
    preferredTransport: main.protocolBinding,
    // Every transport, including the main one (R3-CARD-3).
    additionalInterfaces: interfaces.map(({ url, protocolBinding }) => ({ url, transport: protocolBinding })),
    ...(card.provider && { provider: card.provider }),
    version: card.version,
    ...(card.documentationUrl !== undefined && { documentationUrl: card.documentationUrl }),
    ...(card.iconUrl !== undefined && { iconUrl: card.iconUrl }),
    capabilities: encodeCapabilities(capabilities, shape),
    ...(securitySchemes && {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).map(([name, scheme]) => [name, encodeScheme(scheme, shape)]),
      ),
    }),
    ...(securityRequirements && { security: securityRequirements.map((each) => encodeRequirement(each, shape)) }),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map((skill) => encodeSkill(skill, shape)),
    ...(capabilities.extendedAgentCard !== undefined && {
      supportsAuthenticatedExtendedCard: capabilities.extendedAgentCard,
    }),
  }
}

function isOf(wanted: string, { protocolVersion }: AgentInterface): boolean {
  return protocolVersion === wanted || protocolVersion.startsWith(`${wanted}.`)
}

function encodeCapabilities(
  { streaming, pushNotifications, stateTransitionHistory = false, extensions }: AgentCard['capabilities'],
  shape: Shape,
): Wire {
  return {
    ...(streaming !== undefined && { streaming }),
    ...(pushNotifications !== undefined && { pushNotifications }),
    ...(shape === 'json' && { stateTransitionHistory }), // the protobuf has no such field
    ...(extensions && { extensions }),
  }
}

function encodeSkill({ securityRequirements, ...skill }: AgentSkill, shape: Shape): Wire {
  if (!securityRequirements) return skill
  return { ...skill, security: securityRequirements.map((each) => encodeRequirement(each, shape)) }
}

/**
 * The v1.0 card with 0.3's members added. The members do not collide at the top level. Security schemes have the
 * members of both versions, and skills have both kinds of requirements (RM-CARD-2).
 */
export function hybridCard(v1Card: AgentCard, v03Card: object): object {
  const older = v03Card as { readonly [member in 'capabilities' | 'securitySchemes' | 'skills']?: object } // `encodeCard` made it
  const { capabilities, securitySchemes, skills } = v1Card
  return {
    ...older,
    ...v1Card,
    capabilities: { ...older.capabilities, ...capabilities },
    ...(securitySchemes && {
      securitySchemes: mergedEach({ ...olderSchemes(securitySchemes), ...older.securitySchemes }, securitySchemes),
    }),
    skills: Object.values(mergedEach(older.skills, skills)),
  }
}

/** Schemes that only v1.0 has, such as those of further flows, must be readable in 0.3. */
function olderSchemes(schemes: NonNullable<AgentCard['securitySchemes']>): object {
  return Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, encodeScheme(scheme, 'json')]))
}

function mergedEach(older: object | undefined, newer: object): Record<string, object> {
  const before = new Map<string, object>(Object.entries(older ?? {}))
  return Object.fromEntries(
    Object.entries(newer).map(([key, each]) => [key, { ...before.get(key), ...(each as object) }]),
  )
}

function encodeScheme(scheme: SecurityScheme, shape: Shape): Wire {
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

/** The device code flow has no form in 0.3. Its scheme stays, so that requirements name an existing scheme. */
function encodeFlows({ authorizationCode, clientCredentials, implicit, password }: OAuthFlows): Wire {
  const { pkceRequired: _pkceRequired, ...code } = authorizationCode ?? {}
  return {
    ...(authorizationCode && { authorizationCode: code }),
    ...(clientCredentials && { clientCredentials }),
    // 0.3 requires members that are optional in v1.0.
    ...(implicit && { implicit: { authorizationUrl: '', scopes: {}, ...implicit } }),
    ...(password && { password: { tokenUrl: '', scopes: {}, ...password } }),
  }
}

function encodeRequirement(requirement: SecurityRequirement, shape: Shape): Wire {
  if (shape === 'proto') return { ...requirement }
  const schemes = Object.entries(requirement.schemes ?? {})
  return Object.fromEntries(schemes.map(([name, { list = [] }]) => [name, list]))
}
