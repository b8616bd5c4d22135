/** A bridge: an agent somewhere else, whatever its age, as one of ours. */
import {
  A2AError,
  type AgentCard,
  type AgentClient,
  type ConnectOptions,
  connect,
  type ErrorCode,
} from '../client/index.js'
import { relayAgent } from '../engine/index.js'
import type { Agent, AgentInit, AgentService, Caller } from '../index.js'
import { oneLine } from './printable.js'

export interface ProxyOptions {
  /** In place of the name on the other card. */
  readonly name?: string
  readonly connect: ConnectOptions
  /** Called when the agent refuses a call of the bridge. */
  readonly onWarning: (message: string) => void
}

export interface Bridge {
  readonly agent: Agent
  /** What is spoken to the agent behind this one. */
  readonly spoken: string
  close(): Promise<void>
}

export async function proxyAgent(ref: string, options: ProxyOptions): Promise<Bridge> {
  const upstream = await connect(ref, options.connect)
  const { dialect, binding, url } = upstream.choice
  const service = betweenUs(upstream, options.onWarning)
  const card = cardOf(upstream.card, options.name ?? (oneLine(upstream.card.name) || ref), service)
  return {
    agent: relayAgent(card, service),
    spoken: `${dialect} over ${binding} at ${oneLine(url)}`,
    close: () => upstream.close(),
  }
}

/** What is wrong between the bridge and the agent: its callers cannot help it, and must not take it for their own. */
const ours: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'VERSION_NOT_SUPPORTED',
  'METHOD_NOT_FOUND',
  'PARSE_ERROR',
  'INVALID_REQUEST',
])

function betweenUs(upstream: AgentClient, warn: (message: string) => void): AgentService {
  const rethrow = (error: unknown): never => {
    if (!(error instanceof A2AError) || !ours.has(error.code)) throw error
    warn(`The agent behind this bridge answers ${error.code}: ${error.message}`)
    throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent behind this one does not accept its calls', {
      cause: error,
    })
  }
  return {
    ...upstream,
    async *sendStreamingMessage(request, context) {
      try {
        yield* upstream.sendStreamingMessage(request, context)
      } catch (error) {
        rethrow(error)
      }
    },
    getExtendedAgentCard: (request, context) =>
      upstream.getExtendedAgentCard(request, context).catch((error: unknown) => {
        if (error instanceof A2AError) return rethrow(error)
        throw new A2AError('UNAVAILABLE', 'The agent behind this one does not answer', { cause: error })
      }),
  }
}

/** The bridge's card. Its extended card is the other agent's, read with the credentials of the bridge. */
function cardOf(card: AgentCard, name: string, service: AgentService): AgentInit {
  const { streaming, pushNotifications, extendedAgentCard } = card.capabilities
  return {
    name,
    ...describedBy(card),
    capabilities: {
      ...(streaming !== undefined && { streaming }),
      ...(pushNotifications !== undefined && { pushNotifications }),
      ...(extendedAgentCard && { extendedAgentCard }),
    },
    ...(extendedAgentCard && {
      extendedCard: async (own: AgentCard, caller: Caller) => ({
        ...own,
        ...describedBy(await service.getExtendedAgentCard({}, { caller })),
      }),
    }),
  }
}

/**
 * The members of the other card that describe the agent. Members about its server are left out: addresses,
 * credentials, signatures, and extensions, which end at the bridge.
 */
function describedBy(card: AgentCard) {
  const { description, version, provider, documentationUrl, iconUrl } = card
  return {
    description,
    ...(version !== '' && { version }),
    ...(provider && { provider }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(({ securityRequirements: _theirs, ...skill }) => skill),
  }
}
