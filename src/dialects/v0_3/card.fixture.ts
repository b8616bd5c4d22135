import type { AgentCard } from '../../model/agent-card.js'

/** A card that 0.3 can express without loss. */
export const card: AgentCard = {
  name: 'Adder',
  description: 'Adds numbers',
  supportedInterfaces: [
    { url: 'https://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'https://a.example', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
  ],
  provider: { url: 'https://p.example', organization: 'P' },
  version: '1.2.3',
  documentationUrl: 'https://a.example/docs',
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [{ uri: 'e' }] },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    oauth: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: 't', scopes: { read: 'Reads' } } } } },
    mtls: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: {}, oauth: { list: ['read'] } } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'add', name: 'Add', description: 'Sum', tags: ['math'] }],
}
