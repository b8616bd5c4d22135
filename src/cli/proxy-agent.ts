/** A bridge: an agent somewhere else, whatever its age, as one of ours. */
import {
  A2AError,
  type AgentCard,
  type AgentClient,
  type ConnectOptions,
  connect,
  type ErrorCode,
} from '../client/index.js'
import { type AgentInit, relayAgent } from '../engine/index.js'
import type { Agent, AgentService } from '../index.js'
import { oneLine } from './printable.js'

export interface ProxyOptions {
  /** In place of the name on the other card. */
  readonly name?: string
  readonly connect: ConnectOptions
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
  const card = cardOf(upstream.card, options.name ?? (oneLine(upstream.card.name) || ref))
  return {
    agent: relayAgent(card, betweenUs(upstream, options.connect.onWarning)),
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

function betweenUs(upstream: AgentClient, warn: ConnectOptions['onWarning']): AgentService {
  return {
    ...upstream,
    async *sendStreamingMessage(request, context) {
      try {
        yield* upstream.sendStreamingMessage(request, context)
      } catch (error) {
        if (!(error instanceof A2AError) || !ours.has(error.code)) throw error
        warn?.(`The agent behind this bridge answers ${error.code}: ${error.message}`)
        throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent behind this one does not accept its calls', {
          cause: error,
        })
      }
    },
  }
}

/**
 * What the other card says of the agent. What it says of its server is left out: addresses, credentials,
 * signatures, and extensions, which end at the bridge.
 */
function cardOf(card: AgentCard, name: string): AgentInit {
  const { streaming, pushNotifications } = card.capabilities
  const { description, version, provider, documentationUrl, iconUrl } = card
  return {
    name,
    description,
    ...(version !== '' && { version }),
    ...(provider && { provider }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: card.skills.map(({ securityRequirements: _theirs, ...skill }) => skill),
    capabilities: {
      ...(streaming !== undefined && { streaming }),
      ...(pushNotifications !== undefined && { pushNotifications }),
    },
  }
}
