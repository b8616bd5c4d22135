/** The card of v0.1: one address, and authentication schemes by name. */
import type {
  AgentCapabilities,
  AgentCard,
  AgentInterface,
  AgentSkill,
  SecurityScheme,
} from '../../model/agent-card.js'
import { array, boolean, type Decoder, decodeOrThrow, object, optional, required, string } from '../decode.js'
import type { WireForm } from './wire-form.js'

/** Encodes the card with one interface: JSON-RPC without a tenant, in the version closest to v0.1. */
export function encodeCard(card: AgentCard, { hasGoCard }: WireForm): object | undefined {
  const address = ['0.1', '0.3', '1.0']
    .map((version) => card.supportedInterfaces.find((each) => isReached(each, version)))
    .find((each) => each !== undefined)
  if (!address) return undefined
  const { streaming = false, pushNotifications = false, stateTransitionHistory = false } = card.capabilities
  return {
    name: card.name,
    description: card.description,
    url: address.url,
    version: card.version,
    provider: card.provider && { organization: card.provider.organization, url: card.provider.url },
    documentationUrl: hasGoCard ? undefined : card.documentationUrl,
    iconUri: hasGoCard ? card.iconUrl : undefined,
    capabilities: { streaming, pushNotifications, stateTransitionHistory },
    authentication: authenticationOf(card) ?? (hasGoCard ? { schemes: [] } : undefined),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(encodeSkill),
  }
}

function isReached({ protocolBinding, protocolVersion, tenant }: AgentInterface, version: string): boolean {
  if (protocolBinding !== 'JSONRPC' || tenant) return false
  return protocolVersion === version || protocolVersion.startsWith(`${version}.`)
}

function encodeSkill({ id, name, description, tags, examples, inputModes, outputModes }: AgentSkill): object {
  return { id, name, description, tags, examples, inputModes, outputModes }
}

export interface Authentication {
  readonly schemes: readonly string[]
  /** JSON that states the place of the credentials and how to get them; never a secret. */
  readonly credentials?: string
}

/** Absent when v0.1 has no name for any scheme of the card. */
function authenticationOf({ securitySchemes = {} }: AgentCard): Authentication | undefined {
  const hints: Record<string, object> = {}
  const schemes = new Set<string>()
  for (const scheme of Object.values(securitySchemes)) {
    const name = schemeName(scheme)
    if (name === undefined) continue
    schemes.add(name)
    const hint = hintOf(scheme)
    if (hint) hints[name] ??= hint
  }
  if (schemes.size === 0) return undefined
  return { schemes: [...schemes], ...(Object.keys(hints).length > 0 && { credentials: JSON.stringify(hints) }) }
}

/** Client certificates have no name: they are not sent in a header. */
function schemeName(scheme: SecurityScheme): string | undefined {
  if ('apiKeySecurityScheme' in scheme) return 'apiKey'
  if ('httpAuthSecurityScheme' in scheme) {
    const { scheme: name } = scheme.httpAuthSecurityScheme
    return ['Bearer', 'Basic'].find((known) => known.toLowerCase() === name.toLowerCase()) ?? name
  }
  return 'mtlsSecurityScheme' in scheme ? undefined : 'OAuth2'
}

/** Header of an API key for which the card gives no other place. */
const defaultKeyHeader = 'X-API-Key'

function hintOf(scheme: SecurityScheme): object | undefined {
  if ('apiKeySecurityScheme' in scheme) {
    const { location, name } = scheme.apiKeySecurityScheme
    const isDefault = location === 'header' && name.toLowerCase() === defaultKeyHeader.toLowerCase()
    return isDefault ? undefined : { in: location, name }
  }
  if ('oauth2SecurityScheme' in scheme) return { flows: scheme.oauth2SecurityScheme.flows }
  if ('openIdConnectSecurityScheme' in scheme) {
    return { openIdConnectUrl: scheme.openIdConnectSecurityScheme.openIdConnectUrl }
  }
  return undefined
}

interface ReadCard {
  readonly name: string
  readonly description?: string
  readonly url: string
  readonly version?: string
  readonly provider?: { readonly organization: string; readonly url?: string }
  readonly documentationUrl?: string
  readonly iconUri?: string
  readonly capabilities?: Pick<AgentCapabilities, 'streaming' | 'pushNotifications' | 'stateTransitionHistory'>
  readonly authentication?: { readonly schemes?: readonly string[]; readonly credentials?: string }
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly skills?: readonly ReadSkill[]
}

type ReadSkill = Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>

const skill = object<Omit<ReadSkill, 'securityRequirements'>>({
  id: required(string),
  name: required(string),
  description: optional(string),
  tags: optional(array(string)),
  examples: optional(array(string)),
  inputModes: optional(array(string)),
  outputModes: optional(array(string)),
})

const readCard: Decoder<ReadCard> = object<ReadCard>({
  name: required(string),
  description: optional(string),
  url: required(string),
  version: optional(string),
  provider: optional(
    object<NonNullable<ReadCard['provider']>>({ organization: required(string), url: optional(string) }),
  ),
  documentationUrl: optional(string),
  iconUri: optional(string),
  capabilities: optional(
    object<NonNullable<ReadCard['capabilities']>>({
      streaming: optional(boolean),
      pushNotifications: optional(boolean),
      stateTransitionHistory: optional(boolean),
    }),
  ),
  authentication: optional(
    object<NonNullable<ReadCard['authentication']>>({
      schemes: optional(array(string)),
      credentials: optional(string),
    }),
  ),
  defaultInputModes: optional(array(string)),
  defaultOutputModes: optional(array(string)),
  skills: optional(array(skill)),
})

/** Decodes a card of v0.1 or task-rest into the model. `protocolBinding` is the binding of its one address. */
export function decodeCard(value: unknown, protocolBinding = 'JSONRPC'): AgentCard {
  const read = decodeOrThrow(readCard, value)
  const schemes = (read.authentication?.schemes ?? []).flatMap((name) => {
    const scheme = schemeCalled(name)
    return scheme ? [[name, scheme] as const] : []
  })
  return {
    name: read.name,
    description: read.description ?? '',
    supportedInterfaces: [{ url: read.url, protocolBinding, protocolVersion: '0.1' }],
    ...(read.provider && { provider: { organization: read.provider.organization, url: read.provider.url ?? '' } }),
    version: read.version ?? '',
    ...(read.documentationUrl !== undefined && { documentationUrl: read.documentationUrl }),
    ...(read.iconUri !== undefined && { iconUrl: read.iconUri }),
    capabilities: {
      streaming: read.capabilities?.streaming ?? false,
      pushNotifications: read.capabilities?.pushNotifications ?? false,
      ...(read.capabilities?.stateTransitionHistory && { stateTransitionHistory: true }), // false is the default
    },
    ...(schemes.length > 0 && {
      securitySchemes: Object.fromEntries(schemes),
      securityRequirements: schemes.map(([name]) => ({ schemes: { [name]: {} } })),
    }),
    defaultInputModes: mediaTypes(read.defaultInputModes ?? ['text']),
    defaultOutputModes: mediaTypes(read.defaultOutputModes ?? ['text']),
    skills: (read.skills ?? []).map(toSkill),
  }
}

function toSkill({ description = '', tags = [], inputModes, outputModes, ...rest }: ReadSkill): AgentSkill {
  return {
    ...rest,
    description,
    tags,
    ...(inputModes && { inputModes: mediaTypes(inputModes) }),
    ...(outputModes && { outputModes: mediaTypes(outputModes) }),
  }
}

/** A scheme that is given by name only uses the default header. OAuth 2 tokens are sent as bearer tokens. */
function schemeCalled(name: string): SecurityScheme | undefined {
  switch (name.toLowerCase()) {
    case 'none':
    case 'public':
      return undefined
    case 'apikey':
      return { apiKeySecurityScheme: { location: 'header', name: defaultKeyHeader } }
    case 'oauth2':
      return { httpAuthSecurityScheme: { scheme: 'Bearer' } }
    default:
      return { httpAuthSecurityScheme: { scheme: name } }
  }
}

const modes: ReadonlyMap<string, string> = new Map([
  ['text', 'text/plain'],
  ['data', 'application/json'],
  ['file', 'application/octet-stream'],
])

function mediaTypes(words: readonly string[]): readonly string[] {
  return words.map((word) => modes.get(word) ?? word)
}
