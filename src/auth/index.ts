export { type ApiKeyOptions, apiKey } from './api-key.js'
export { type AuthScheme, authenticate, type Credentials, type Verdict } from './scheme.js'
