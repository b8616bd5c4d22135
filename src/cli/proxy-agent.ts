/** Serves a remote agent of any protocol version as a local one. */
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

interface ProxyOptions {
  /** Overrides the name on the card. */
  readonly name?: string
  readonly connect: ConnectOptions
  /** Called when the upstream agent rejects a call of the proxy. */
  readonly onWarning: (message: string) => void
}

interface ProxyAgent {
  readonly agent: Agent
  /** Dialect, binding and URL of the upstream agent. */
  readonly upstream: string
  close(): Promise<void>
}

export async function proxyAgent(ref: string, options: ProxyOptions): Promise<ProxyAgent> {
  const client = await connect(ref, options.connect)
  const { dialect, binding, url } = client.choice
  const service = hideUpstreamErrors(client, options.onWarning)
  const card = cardOf(client.card, options.name ?? (oneLine(client.card.name) || ref), service)
  return {
    agent: relayAgent(card, service),
    upstream: `${dialect} over ${binding} at ${oneLine(url)}`,
    close: () => client.close(),
  }
}

/** Errors between the proxy and the upstream agent. Callers of the proxy did not cause them and must not see them as theirs. */
const upstreamErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'VERSION_NOT_SUPPORTED',
  'METHOD_NOT_FOUND',
  'PARSE_ERROR',
  'INVALID_REQUEST',
])

function hideUpstreamErrors(upstream: AgentClient, warn: (message: string) => void): AgentService {
  const rethrow = (error: unknown): never => {
    if (!(error instanceof A2AError) || !upstreamErrors.has(error.code)) throw error
    warn(`The upstream agent answers ${error.code}: ${error.message}`)
    throw new A2AError('INVALID_AGENT_RESPONSE', 'The upstream agent rejected the call', {
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
        throw new A2AError('UNAVAILABLE', 'The upstream agent does not answer', { cause: error })
      }),
  }
}

/** The card of the proxy. Its extended card is that of the upstream agent, read with the credentials of the proxy. */
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
 * The members of the upstream card that describe the agent. Members about its server are left out: interfaces, security,
 * signatures, and extensions, which the proxy does not forward.
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
    skills: card.skills.map(({ securityRequirements: _upstream, ...skill }) => skill),
  }
}
