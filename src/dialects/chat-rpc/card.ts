/** The card that chat-rpc registries expect: 0.3's, with one address (RL-L2-5). */
import type { AgentCard } from '../../model/agent-card.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { encodeCard as encodeCardOf03 } from '../v0_3/card.js'
import { paths } from './facts.js'

const json = 'application/json'

/** Absent when the card names no plain HTTP address to which the paths of chat-rpc can be added. */
export function encodeCard(card: AgentCard): object | undefined {
  const base = card.supportedInterfaces.find((each) => each.protocolBinding === 'HTTP+JSON' && !each.tenant)?.url
  if (base === undefined) return undefined
  const { extendedAgentCard: _extendedCard, ...capabilities } = card.capabilities
  return encodeCardOf03({
    ...card,
    supportedInterfaces: [
      { url: withoutTrailingSlashes(base) + paths[0], protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    // chat-rpc has no methods for push notifications and the extended card.
    capabilities: { ...capabilities, streaming: capabilities.streaming ?? true, pushNotifications: false },
    defaultInputModes: withJson(card.defaultInputModes),
    defaultOutputModes: withJson(card.defaultOutputModes),
  })
}

function withJson(modes: readonly string[]): readonly string[] {
  return modes.includes(json) ? modes : [...modes, json]
}
