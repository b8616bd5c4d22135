import type { Struct } from './part.js'

/** The protocol bindings that the specification defines, in order of preference. */
export const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const

/** A protocol binding, as `AgentInterface.protocolBinding` names it. */
export type Binding = (typeof bindings)[number]

/** The text that a card's signature covers: the members v1.0 knows without defaults, or every member as received. */
export type CardSigningForm = 'strict' | 'as-received'

/** An interface of an agent: address, binding and protocol version. */
export interface AgentInterface {
  readonly url: string
  /** `JSONRPC`, `HTTP+JSON`, `GRPC` or a URI. */
  readonly protocolBinding: string
  readonly tenant?: string
  /** `Major.Minor`, such as `1.0`. */
  readonly protocolVersion: string
}

/** The organisation that provides an agent. */
export interface AgentProvider {
  readonly url: string
  readonly organization: string
}

/** A protocol extension that an agent supports. */
export interface AgentExtension {
  readonly uri?: string
  readonly description?: string
  readonly required?: boolean
  readonly params?: Struct
}

/** The optional parts of the protocol that an agent supports. */
export interface AgentCapabilities {
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  /** In cards of 0.3 and older. v1.0 has no such member. */
  readonly stateTransitionHistory?: boolean
  readonly extensions?: readonly AgentExtension[]
  readonly extendedAgentCard?: boolean
}

/** A capability of an agent, as its card describes it. */
export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly securityRequirements?: readonly SecurityRequirement[]
}

export interface AgentCardSignature {
  readonly protected: string
  readonly signature: string
  readonly header?: Struct
}

/** Schemes that are all required. A list of requirements is an OR. */
export interface SecurityRequirement {
  readonly schemes?: { readonly [name: string]: { readonly list?: readonly string[] } }
}

interface Described {
  readonly description?: string
}

export interface APIKeySecurityScheme extends Described {
  readonly location: string
  readonly name: string
}

export interface HTTPAuthSecurityScheme extends Described {
  readonly scheme: string
  readonly bearerFormat?: string
}

export interface OpenIdConnectSecurityScheme extends Described {
  readonly openIdConnectUrl: string
}

export interface OAuth2SecurityScheme extends Described {
  readonly flows: OAuthFlows
  readonly oauth2MetadataUrl?: string
}

type Scopes = { readonly [scope: string]: string }

/** OAuth 2 flows. 0.3 allows several in one scheme; in v1.0 each flow is a separate scheme. */
export interface OAuthFlows {
  readonly authorizationCode?: {
    readonly authorizationUrl: string
    readonly tokenUrl: string
    readonly refreshUrl?: string
    readonly scopes: Scopes
    readonly pkceRequired?: boolean
  }
  readonly clientCredentials?: { readonly tokenUrl: string; readonly refreshUrl?: string; readonly scopes: Scopes }
  readonly deviceCode?: {
    readonly deviceAuthorizationUrl: string
    readonly tokenUrl: string
    readonly refreshUrl?: string
    readonly scopes: Scopes
  }
  readonly implicit?: { readonly authorizationUrl?: string; readonly refreshUrl?: string; readonly scopes?: Scopes }
  readonly password?: { readonly tokenUrl?: string; readonly refreshUrl?: string; readonly scopes?: Scopes }
}

/** Exactly one member is present. */
export type SecurityScheme =
  | { readonly apiKeySecurityScheme: APIKeySecurityScheme }
  | { readonly httpAuthSecurityScheme: HTTPAuthSecurityScheme }
  | { readonly oauth2SecurityScheme: OAuth2SecurityScheme }
  | { readonly openIdConnectSecurityScheme: OpenIdConnectSecurityScheme }
  | { readonly mtlsSecurityScheme: Described }

/** An agent's description of itself: identity, interfaces, skills and security. */
export interface AgentCard {
  readonly name: string
  readonly description: string
  readonly supportedInterfaces: readonly AgentInterface[]
  readonly provider?: AgentProvider
  readonly version: string
  readonly documentationUrl?: string
  readonly capabilities: AgentCapabilities
  readonly securitySchemes?: { readonly [name: string]: SecurityScheme }
  readonly securityRequirements?: readonly SecurityRequirement[]
  readonly defaultInputModes: readonly string[]
  readonly defaultOutputModes: readonly string[]
  readonly skills: readonly AgentSkill[]
  readonly signatures?: readonly AgentCardSignature[]
  readonly iconUrl?: string
}
