/** Authentication of callers: the schemes of `serve({ auth })`. */

// Schemes

export { type JwtKeys, type JwtOptions, jwt, type OidcOptions, oidc } from './jwt.js'
export { type CertificateName, type MtlsOptions, mtls } from './mtls.js'
export type { Fetch, KeyTimes } from './remote-keys.js'
export { type FlowsOptions, withFlows } from './requirement.js'
export type { CallersBySecret } from './static-schemes.js'
export {
  type ApiKeyOptions,
  apiKey,
  type BasicOptions,
  type BearerOptions,
  basic,
  bearer,
  type Users,
  type VerifyPassword,
  type VerifyToken,
} from './static-schemes.js'
export type { TokenOptions } from './token.js'

// Requirements: several schemes, scopes

export { type Auth, allOf, type Requirement, withScopes } from './requirement.js'

// Extend: write a scheme

export type { Connection, VerifiedCertificate } from '../model/connection.js'
export type { AuthScheme, Credentials, NamedCaller, Shortfall, Verdict } from './scheme.js'
