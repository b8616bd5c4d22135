/** Security schemes and requirements of cards. The protobuf spells them as v1.0 does, JSON as OpenAPI does. They are read in `read-security.ts`. */
import type { OAuthFlows, SecurityRequirement, SecurityScheme } from '../../model/agent-card.js'
import type { Shape, Wire } from './spelling.js'

export function encodeScheme(scheme: SecurityScheme, shape: Shape): Wire {
  if ('oauth2SecurityScheme' in scheme) {
    const oauth2 = { ...scheme.oauth2SecurityScheme, flows: encodeFlows(scheme.oauth2SecurityScheme.flows) }
    return shape === 'json' ? { type: 'oauth2', ...oauth2 } : { oauth2SecurityScheme: oauth2 }
  }
  if (shape === 'proto') return scheme
  if ('apiKeySecurityScheme' in scheme) {
    const { location, ...rest } = scheme.apiKeySecurityScheme
    return { type: 'apiKey', in: location, ...rest }
  }
  if ('httpAuthSecurityScheme' in scheme) return { type: 'http', ...scheme.httpAuthSecurityScheme }
  if ('openIdConnectSecurityScheme' in scheme) return { type: 'openIdConnect', ...scheme.openIdConnectSecurityScheme }
  return { type: 'mutualTLS', ...scheme.mtlsSecurityScheme }
}

/** The device code flow has no form in 0.3: its scheme stays, so that requirements still name one that exists. */
function encodeFlows({ authorizationCode, clientCredentials, implicit, password }: OAuthFlows): Wire {
  const { pkceRequired: _pkceRequired, ...code } = authorizationCode ?? {}
  return {
    ...(authorizationCode && { authorizationCode: code }),
    ...(clientCredentials && { clientCredentials }),
    // 0.3 needs what v1.0 leaves open.
    ...(implicit && { implicit: { authorizationUrl: '', scopes: {}, ...implicit } }),
    ...(password && { password: { tokenUrl: '', scopes: {}, ...password } }),
  }
}

export function encodeRequirement(requirement: SecurityRequirement, shape: Shape): Wire {
  if (shape === 'proto') return { ...requirement }
  const schemes = Object.entries(requirement.schemes ?? {})
  return Object.fromEntries(schemes.map(([name, { list = [] }]) => [name, list]))
}
