/** Reads v1.0 cards leniently: what a client can do without may be missing. Hybrid cards are read as v1.0's (RM-CARD-3). */
import type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
} from '../../model/agent-card.js'
import { array, boolean, converted, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import { mapOf, securityRequirement, securityScheme } from '../read-security.js'

const text = optional(string)
const texts = optional(array(string))

/** What the prose of v1.0 calls `security`. */
const securityRequirements = optional(array(securityRequirement))
const aliases = { securityRequirements: ['security'] }

const supportedInterface = converted(
  object<Omit<AgentInterface, 'protocolVersion'> & { readonly protocolVersion?: string }>({
    url: required(string),
    protocolBinding: required(string),
    tenant: text,
    protocolVersion: text,
  }),
  // Drafts had no versions here, and no other version has the list.
  ({ protocolVersion = '1.0', ...rest }): AgentInterface => ({ ...rest, protocolVersion }),
)

const provider = converted(
  object<Partial<AgentProvider>>({ url: text, organization: text }),
  ({ url = '', organization = '' }): AgentProvider => ({ url, organization }),
)

const capabilities = object<Omit<AgentCapabilities, 'stateTransitionHistory'>>({
  streaming: optional(boolean),
  pushNotifications: optional(boolean),
  extensions: optional(
    array(
      object<AgentExtension>({ uri: text, description: text, required: optional(boolean), params: optional(struct) }),
    ),
  ),
  extendedAgentCard: optional(boolean),
})

const skill = converted(
  object<Partial<AgentSkill> & Pick<AgentSkill, 'id'>>(
    {
      id: required(string),
      name: text,
      description: text,
      tags: texts,
      examples: texts,
      inputModes: texts,
      outputModes: texts,
      securityRequirements,
    },
    { aliases },
  ),
  ({ name, description = '', tags = [], ...rest }): AgentSkill => ({
    ...rest,
    name: name ?? rest.id,
    description,
    tags,
  }),
)

const signature = object<AgentCardSignature>({
  protected: required(string),
  signature: required(string),
  header: optional(struct),
})

type Needed = 'name' | 'supportedInterfaces'

const card = converted(
  object<Partial<AgentCard> & Pick<AgentCard, Needed>>(
    {
      name: required(string),
      description: text,
      supportedInterfaces: required(array(supportedInterface)),
      provider: optional(provider),
      version: text,
      documentationUrl: text,
      capabilities: optional(capabilities),
      securitySchemes: optional(mapOf(securityScheme)),
      securityRequirements,
      defaultInputModes: texts,
      defaultOutputModes: texts,
      skills: optional(array(skill)),
      signatures: optional(array(signature)),
      iconUrl: text,
    },
    { aliases },
  ),
  (read): AgentCard => ({
    ...read,
    description: read.description ?? '',
    version: read.version ?? '',
    capabilities: read.capabilities ?? {},
    defaultInputModes: read.defaultInputModes ?? [],
    defaultOutputModes: read.defaultOutputModes ?? [],
    skills: read.skills ?? [],
  }),
)

/** Signatures are of the card as it came: verify that one. */
export function decodeCard(wire: unknown): AgentCard {
  return decodeOrThrow(card, wire)
}
