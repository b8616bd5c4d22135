/** The card: modes are single words, authentication is an API key or nothing. */
import type { AgentCard } from '../../model/agent-card.js'
import { decodeCard as decodeV0_1Card } from '../v0_1/card.js'

export function encodeCard(card: AgentCard): object | undefined {
  const address = card.supportedInterfaces.find((each) => each.protocolBinding === 'HTTP+JSON' && !each.tenant)
  if (!address) return undefined
  const { streaming = false, pushNotifications = false } = card.capabilities
  return {
    name: card.name,
    description: card.description,
    url: address.url,
    version: card.version,
    skills: card.skills.map(({ id, name, description, examples, inputModes, outputModes }) => ({
      id,
      name,
      description,
      inputModes: words(inputModes ?? card.defaultInputModes),
      outputModes: words(outputModes ?? card.defaultOutputModes),
      examples,
    })),
    capabilities: { streaming, pushNotifications },
    authentication: hasApiKey(card) ? { schemes: ['apiKey'] } : undefined,
  }
}

export function decodeCard(value: unknown): AgentCard {
  return decodeV0_1Card(value, 'HTTP+JSON')
}

function hasApiKey({ securitySchemes = {} }: AgentCard): boolean {
  return Object.values(securitySchemes).some((scheme) => 'apiKeySecurityScheme' in scheme)
}

function words(mediaTypes: readonly string[]): readonly string[] {
  return [...new Set(mediaTypes.flatMap(wordsFor))]
}

function wordsFor(mediaType: string): readonly string[] {
  if (mediaType === '*/*') return ['text', 'data', 'file']
  if (/^text(\/|$)/i.test(mediaType)) return ['text']
  return /^application\/([^;]+\+)?json\b/i.test(mediaType) ? ['data'] : ['file']
}
