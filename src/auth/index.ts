/** Authentication of callers: the schemes of `serve({ auth })`. */

// Schemes

export { type ApiKeyOptions, apiKey } from './api-key.js'
export { type BasicOptions, basic, type Users, type VerifyPassword } from './basic.js'
export { type BearerOptions, bearer, type VerifyToken } from './bearer.js'
export type { Fetch } from './fetch-json.js'
export { type FlowsOptions, withFlows } from './flows.js'
export { type JwtKeys, type JwtOptions, jwt } from './jwt.js'
export { type CertificateName, type MtlsOptions, mtls } from './mtls.js'
export { type OidcOptions, oidc } from './oidc.js'
export type { KeyTimes } from './remote-keys.js'
export type { CallersBySecret } from './secrets.js'
export type { TokenOptions } from './token.js'

// Requirements: several schemes, scopes

export { type Auth, allOf, type Requirement, withScopes } from './requirement.js'

// Extend: write a scheme

export type {
  AuthScheme,
  Connection,
  Credentials,
  NamedCaller,
  Shortfall,
  Verdict,
  VerifiedCertificate,
} from './scheme.js'
