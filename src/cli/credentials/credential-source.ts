/** From what is kept to what a client asks for credentials. */
import {
  A2AError,
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type CredentialSource,
  type OAuth2Options,
  oauth2,
  type TokenStore,
} from '../../client/index.js'
import type { StoredCredential } from './credential-file.js'

/** How the user is asked, when a token can be had in no other way. */
export type Asking = Pick<OAuth2Options, 'showCode' | 'open' | 'receiver'>

export function credentialSource(credential: StoredCredential, tokens: TokenStore, asking: Asking): CredentialSource {
  if (credential.kind === 'api-key') return apiKeyCredential(credential.key)
  if (credential.kind === 'bearer') return bearerCredential(credential.token)
  if (credential.kind === 'basic') return basicCredential(credential.user, credential.password)
  const { kind: _, tokens: _kept, ...options } = credential
  return oauth2({ ...options, ...asking, store: tokens })
}

/** Commands do not stop in the middle for a browser: they say what to do. */
export function askLater(ref: string): Asking {
  const refuse = () => {
    throw new A2AError('UNAUTHENTICATED', `The login is over: dragoman auth login ${ref}`)
  }
  return { showCode: refuse, open: refuse, receiver: refuse }
}
