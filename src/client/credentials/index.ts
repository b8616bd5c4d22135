export {
  type Additions,
  type Authorizer,
  type AuthorizerOptions,
  createAuthorizer,
  withCredentials,
} from './authorizer.js'
export type { Credential, CredentialContext, CredentialSource, CredentialSources, SchemeNeed } from './credential.js'
export { type OAuth2Options, oauth2 } from './oauth2.js'
export type { DeviceCode, FlowName, RedirectReceiver } from './oauth2-flows.js'
export { type CredentialPlan, describeNeeds, listOf, planCredentials } from './plan.js'
export {
  type ApiKeyOptions,
  apiKey,
  basic,
  bearer,
  type CertificateSource,
  type ClientCertificate,
  certificateOf,
  mutualTls,
} from './static.js'
export { createTokenStore, type StoredToken, type TokenStore } from './token-store.js'
