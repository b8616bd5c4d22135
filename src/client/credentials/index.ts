export { assertCredentials, createAuthorizer, sourcesIn, withCredentials } from './authorizer.js'
export type { CredentialSource, CredentialSources } from './credential.js'
export { createTokenStore, type OAuth2Options, oauth2, type TokenStore } from './oauth2.js'
export type { DeviceCode, RedirectReceiver } from './oauth2-flows.js'
export {
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type ClientCertificate,
  certificateOf,
  mutualTls,
} from './static-credentials.js'
