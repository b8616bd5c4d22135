/** Completes an author's card with the facts of this server: interfaces, security, extensions and defaults. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { cardSecurity, type Requirement } from '../auth/requirement.js'
import type { Dialect } from '../dialects/dialect.js'
import type { Agent, SkillInit } from '../engine/agent.js'
import type { AgentCard, AgentExtension, AgentInterface, AgentSkill } from '../model/agent-card.js'
import type { JsonValue, Struct } from '../model/part.js'
import { skillSchemasUri } from '../model/skill-schemas.js'
import { positionExtension } from '../transports/transport.js'

const streamPositions: AgentExtension = {
  uri: positionExtension,
  description: 'Over gRPC, every event of a stream carries its place in the log, to resume behind it',
}

interface GrpcAddress {
  readonly authority: string
  readonly tenant?: string
}

interface CardFacts {
  /** The agent's address, without a slash at its end. */
  readonly url: string
  /** Address of gRPC, as `host:port`, and the tenant that selects the agent there. */
  readonly grpc?: GrpcAddress
  /** The dialects that are recognised by the request at that address. */
  readonly dialects: readonly Dialect[]
  readonly tenants: readonly string[]
  readonly security: readonly Requirement[]
}

export function completeCard(agent: Agent, facts: CardFacts): AgentCard {
  const { name, description, version, provider, documentationUrl, iconUrl, skills, capabilities } = agent.card
  const extensions = [
    ...(agent.card.extensions ?? []).map(declarationOf),
    ...schemaExtension(skills ?? []),
    ...(facts.grpc ? [streamPositions] : []),
  ]
  return {
    name,
    description: description ?? name,
    version: version ?? '0.0.0',
    supportedInterfaces: interfacesOf(facts),
    ...(provider && { provider }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities: {
      streaming: capabilities?.streaming ?? true,
      pushNotifications: capabilities?.pushNotifications ?? false,
      ...(capabilities?.stateTransitionHistory !== undefined && {
        stateTransitionHistory: capabilities.stateTransitionHistory,
      }),
      ...(extensions.length > 0 && { extensions }),
      ...(capabilities?.extendedAgentCard !== undefined && { extendedAgentCard: capabilities.extendedAgentCard }),
    },
    ...cardSecurity(facts.security),
    // An agent without declared modes accepts everything.
    defaultInputModes: agent.card.defaultInputModes ?? ['text/plain', '*/*'],
    defaultOutputModes: agent.card.defaultOutputModes ?? ['text/plain'],
    skills: skills && skills.length > 0 ? skills.map(completeSkill) : [defaultSkill(agent)],
  }
}

/** The members of an extension that the card has. */
function declarationOf({ uri, description, required, params }: AgentExtension): AgentExtension {
  return {
    ...(uri !== undefined && { uri }),
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
    ...(params && { params }),
  }
}

function interfacesOf({ url, grpc, dialects, tenants }: CardFacts): AgentInterface[] {
  return dialects.flatMap((dialect) => {
    const { cardVersion: protocolVersion, isListed, hasTenants } = dialect
    if (!isListed || protocolVersion === undefined) return []
    const own: AgentInterface[] = []
    if (dialect.jsonrpc) own.push({ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion })
    if (dialect.rest) own.push({ url, protocolBinding: 'HTTP+JSON', protocolVersion })
    const ofTenants = hasTenants ? tenants.flatMap((tenant) => own.map((each) => ({ ...each, tenant }))) : []
    return [...own, ...grpcInterface(grpc, dialect, protocolVersion), ...ofTenants]
  })
}

/** gRPC has no paths: agents that share a port are selected by tenant. Dialects without tenants get no interface. */
function grpcInterface(
  grpc: GrpcAddress | undefined,
  { grpc: form, hasTenants }: Dialect,
  protocolVersion: string,
): AgentInterface[] {
  if (!grpc || !form || (grpc.tenant !== undefined && !hasTenants)) return []
  const tenant = grpc.tenant === undefined ? {} : { tenant: grpc.tenant }
  return [{ url: grpc.authority, protocolBinding: 'GRPC', ...tenant, protocolVersion }]
}

function completeSkill({ input: _input, output: _output, ...skill }: SkillInit): AgentSkill {
  const name = skill.name ?? skill.id
  return { ...skill, name, description: skill.description ?? name, tags: skill.tags ?? [skill.id] }
}

/** A card must list a skill (R-CARD-2): an agent without skills gets one with its own name. */
function defaultSkill({ card: { name, description } }: Agent): AgentSkill {
  const id =
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '') || 'main'
  return { id, name, description: description ?? name, tags: [id] }
}

function schemaExtension(skills: readonly SkillInit[]): AgentExtension[] {
  const described: [string, Struct][] = []
  for (const { id, input, output } of skills) {
    const schemas = [
      ['input', jsonSchemaOf(input, 'input')],
      ['output', jsonSchemaOf(output, 'output')],
    ].filter(([, schema]) => schema !== undefined)
    if (schemas.length > 0) described.push([id, Object.fromEntries(schemas) as Struct])
  }
  if (described.length === 0) return []
  const description = 'JSON Schemas of the data parts that skills take and give'
  return [{ uri: skillSchemasUri, description, params: { skills: Object.fromEntries(described) } }]
}

/** Libraries that implement Standard JSON Schema export theirs; other schemas only validate. */
function jsonSchemaOf(schema: StandardSchemaV1 | undefined, side: 'input' | 'output'): JsonValue | undefined {
  const standard = schema?.['~standard'] as
    | { readonly jsonSchema?: Record<'input' | 'output', (options: { readonly target: string }) => JsonValue> }
    | undefined
  try {
    return standard?.jsonSchema?.[side]({ target: 'draft-2020-12' })
  } catch {
    return undefined // a schema that JSON Schema cannot express
  }
}
