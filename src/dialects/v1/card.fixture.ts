import type { AgentCard } from '../../model/agent-card.js'

/** A card with every member. */
export const card: AgentCard = {
  name: 'Adder',
  description: 'Adds numbers',
  supportedInterfaces: [
    { url: 'https://a.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'a.example:443', protocolBinding: 'GRPC', tenant: 'acme', protocolVersion: '0.3' },
  ],
  provider: { url: 'https://p.example', organization: 'P' },
  version: '1.2.3',
  documentationUrl: 'https://a.example/docs',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [{ uri: 'https://e.example/v1', description: 'e', required: true, params: { deep: [1, { a: null }] } }],
    extendedAgentCard: true,
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { description: 'k', location: 'header', name: 'X-API-Key' } },
    http: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
    code: {
      oauth2SecurityScheme: {
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://o.example/a',
            tokenUrl: 'https://o.example/t',
            refreshUrl: 'https://o.example/r',
            scopes: { read: 'Reads' },
            pkceRequired: true,
          },
        },
        oauth2MetadataUrl: 'https://o.example/m',
      },
    },
    device: {
      oauth2SecurityScheme: {
        flows: {
          deviceCode: { deviceAuthorizationUrl: 'https://o.example/d', tokenUrl: 'https://o.example/t', scopes: {} },
        },
      },
    },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://o.example/.well-known' } },
    mtls: { mtlsSecurityScheme: {} },
  },
  securityRequirements: [{ schemes: { key: {}, code: { list: ['read'] } } }, { schemes: { mtls: {} } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain', 'application/json'],
  skills: [
    {
      id: 'add',
      name: 'Add',
      description: 'Sum',
      tags: ['math'],
      examples: ['1+1'],
      inputModes: ['text/plain'],
      outputModes: ['text/plain'],
      securityRequirements: [{ schemes: { http: {} } }],
    },
  ],
  signatures: [{ protected: 'e30', signature: 'c2ln', header: { kid: 'k' } }],
  iconUrl: 'https://a.example/i.png',
}
