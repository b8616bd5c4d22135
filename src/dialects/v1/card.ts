/**
 * Leniently reads v1.0 cards: members that a client does not need may be missing. Hybrid cards are read as v1.0's
 * (RM-CARD-3).
 */
import type {
  AgentCapabilities,
  AgentCard,
  AgentCardSignature,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
} from '../../model/agent-card.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse, RequestOf, SendMessageRequest } from '../../model/service.js'
import { array, boolean, converted, decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import { mapOf, securityRequirement, securityScheme, withSingleFlows } from '../security.js'

const text = optional(string)
const texts = optional(array(string))

/** The text of the specification calls it `security`. */
const securityRequirements = optional(array(securityRequirement))
const aliases = { securityRequirements: ['security'] }

const supportedInterface = converted(
  object<Omit<AgentInterface, 'protocolVersion'> & { readonly protocolVersion?: string }>({
    url: required(string),
    protocolBinding: required(string),
    tenant: text,
    protocolVersion: text,
  }),
  // Drafts had no version here, and no other version has the list.
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

/** Signatures cover the card as received: verify that one. */
export function decodeCard(wire: unknown): AgentCard {
  return decodeOrThrow(card, wire)
}

export function toV1Card(card: AgentCard): AgentCard {
  const { stateTransitionHistory: _history, ...capabilities } = card.capabilities
  return withSingleFlows({ ...card, capabilities })
}

function toV1Config(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  if (config.authentication?.schemes === undefined) return config
  const { schemes: _schemes, ...authentication } = config.authentication
  return { ...config, authentication }
}

function toV1Configs(page: ListTaskPushNotificationConfigsResponse): ListTaskPushNotificationConfigsResponse {
  return { ...page, configs: page.configs.map(toV1Config) }
}

function toV1Send(request: SendMessageRequest): SendMessageRequest {
  const { configuration } = request
  const config = configuration?.taskPushNotificationConfig
  if (config?.authentication?.schemes === undefined) return request
  return { ...request, configuration: { ...configuration, taskPushNotificationConfig: toV1Config(config) } }
}

/** The service guarantees that a value has its operation's type; the table cannot express that. */
type Conversions = { readonly [O in Operation]?: (value: never) => unknown }

const results: Conversions = {
  createTaskPushNotificationConfig: toV1Config,
  getTaskPushNotificationConfig: toV1Config,
  listTaskPushNotificationConfigs: toV1Configs,
  getExtendedAgentCard: toV1Card,
}

const requests: Conversions = {
  sendMessage: toV1Send,
  sendStreamingMessage: toV1Send,
  createTaskPushNotificationConfig: toV1Config,
}

export function toV1Result(operation: Operation, result: unknown): unknown {
  return result === undefined ? {} : applied(results[operation], result)
}

export function toV1Request<O extends Operation>(operation: O, request: RequestOf<O>): RequestOf<O> {
  return applied(requests[operation], request ?? {}) as RequestOf<O> // conversions keep the type
}

function applied(convert: ((value: never) => unknown) | undefined, value: unknown): unknown {
  return convert ? convert(value as never) : value
}
