/** Leniently reads 0.3 and 0.2 cards in either shape: members that a client does not need may be missing. */
import type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from '../../model/agent-card.js'
import { array, boolean, converted, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import { mapOf, securityRequirement, securityScheme } from '../security.js'

const texts = optional(array(string))
const security = optional(array(securityRequirement))

interface WireSkill extends Partial<Omit<AgentSkill, 'securityRequirements'>> {
  readonly id: string
  readonly security?: readonly SecurityRequirement[]
}

const skill = converted(
  object<WireSkill>({
    id: required(string),
    name: optional(string),
    description: optional(string),
    tags: texts,
    examples: texts,
    inputModes: texts,
    outputModes: texts,
    security,
  }),
  ({ security: requirements, name, description = '', tags = [], ...rest }): AgentSkill => ({
    ...rest,
    name: name ?? rest.id,
    description,
    tags,
    ...(requirements && { securityRequirements: requirements }),
  }),
)

const extension = object<AgentExtension>({
  uri: optional(string),
  description: optional(string),
  required: optional(boolean),
  params: optional(struct),
})

const provider = converted(
  object<Partial<AgentProvider>>({ organization: optional(string), url: optional(string) }),
  ({ organization = '', url = '' }): AgentProvider => ({ organization, url }),
)

interface WireCard extends Partial<Pick<AgentCard, 'provider' | 'documentationUrl' | 'iconUrl'>> {
  readonly protocolVersion?: string
  readonly name: string
  readonly description?: string
  readonly url: string
  readonly preferredTransport?: string
  readonly additionalInterfaces?: readonly { readonly url: string; readonly transport: string }[]
  readonly version?: string
  readonly capabilities?: Omit<AgentCapabilities, 'extendedAgentCard'>
  readonly securitySchemes?: { readonly [name: string]: SecurityScheme }
  readonly security?: readonly SecurityRequirement[]
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly skills?: readonly AgentSkill[]
  readonly supportsAuthenticatedExtendedCard?: boolean
}

const wireCard = object<WireCard>({
  protocolVersion: optional(string),
  name: required(string),
  description: optional(string),
  url: required(string),
  preferredTransport: optional(string),
  additionalInterfaces: optional(
    array(object<{ url: string; transport: string }>({ url: required(string), transport: required(string) })),
  ),
  provider: optional(provider),
  version: optional(string),
  documentationUrl: optional(string),
  iconUrl: optional(string),
  capabilities: optional(
    object<NonNullable<WireCard['capabilities']>>({
      streaming: optional(boolean),
      pushNotifications: optional(boolean),
      stateTransitionHistory: optional(boolean),
      extensions: optional(array(extension)),
    }),
  ),
  securitySchemes: optional(mapOf(securityScheme)),
  security,
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: optional(array(skill)),
  supportsAuthenticatedExtendedCard: optional(boolean),
})

/** Modes of a card that states none, as the first version of the protocol defines. */
const defaultModes = ['text/plain']

/** Decodes a 0.3 or 0.2 card into the model. Signatures cover the card as received: verify that one. */
export function decodeCard(wire: unknown): AgentCard {
  const card = decodeOrThrow(wireCard, wire)
  const { provider: by, documentationUrl, iconUrl, securitySchemes, security: requirements } = card
  const { supportsAuthenticatedExtendedCard: extendedAgentCard } = card
  const { stateTransitionHistory, ...capabilities } = card.capabilities ?? {}
  return {
    name: card.name,
    description: card.description ?? '',
    supportedInterfaces: interfacesOf(card),
    ...(by && { provider: by }),
    version: card.version ?? '',
    ...(documentationUrl !== undefined && { documentationUrl }),
    capabilities: {
      ...capabilities,
      ...(stateTransitionHistory && { stateTransitionHistory }), // false is the default
      ...(extendedAgentCard !== undefined && { extendedAgentCard }),
    },
    ...(securitySchemes && { securitySchemes }),
    ...(requirements && { securityRequirements: requirements }),
    defaultInputModes: card.defaultInputModes ?? defaultModes,
    defaultOutputModes: card.defaultOutputModes ?? defaultModes,
    skills: card.skills ?? [],
    ...(iconUrl !== undefined && { iconUrl }),
  }
}

/** The preferred interface comes first; the card may list it again (R3-CARD-3, R3-CARD-5). */
function interfacesOf(card: WireCard): readonly AgentInterface[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces = [] } = card
  const protocolVersion = familyOf(card.protocolVersion)
  const interfaces = new Map<string, AgentInterface>()
  for (const each of [{ url, transport: preferredTransport }, ...additionalInterfaces]) {
    const key = `${each.transport} ${each.url}`
    if (!interfaces.has(key)) interfaces.set(key, { url: each.url, protocolBinding: each.transport, protocolVersion })
  }
  return [...interfaces.values()]
}

/** `Major.Minor` (RM-CARD-5). 0.2.5 introduced the member: a card without it is 0.2's (RM-CARD-3). */
function familyOf(protocolVersion = '0.2'): string {
  return protocolVersion.trim().split('.').slice(0, 2).join('.')
}
