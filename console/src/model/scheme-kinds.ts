/** The kinds of credentials for the security schemes of a card. */
import type { SecurityScheme } from 'dragoman/client'
import type { CredentialKind, GivenCredential } from 'dragoman/console'

/** The first is the default. Empty for schemes without typed credentials, such as certificates. */
export function kindsFor(scheme: SecurityScheme): readonly CredentialKind[] {
  if ('apiKeySecurityScheme' in scheme) return ['apiKey']
  if ('httpAuthSecurityScheme' in scheme) {
    const name = scheme.httpAuthSecurityScheme.scheme.toLowerCase()
    if (name === 'basic') return ['basic']
    return name === 'bearer' ? ['bearer', 'oauth2'] : ['header']
  }
  return 'mtlsSecurityScheme' in scheme ? [] : ['oauth2', 'bearer']
}

export type FieldName =
  | 'token'
  | 'key'
  | 'user'
  | 'password'
  | 'name'
  | 'value'
  | 'clientId'
  | 'clientSecret'
  | 'issuer'
  | 'flow'
  | 'scopes'

export interface CredentialField {
  readonly name: FieldName
  readonly isSecret?: true
  readonly isOptional?: true
  readonly choices?: readonly NonNullable<Extract<GivenCredential, { kind: 'oauth2' }>['flow']>[]
}

export const fieldsOf: Readonly<Record<CredentialKind, readonly CredentialField[]>> = {
  bearer: [{ name: 'token', isSecret: true }],
  apiKey: [{ name: 'key', isSecret: true }],
  basic: [{ name: 'user' }, { name: 'password', isSecret: true }],
  header: [{ name: 'name' }, { name: 'value', isSecret: true }],
  oauth2: [
    { name: 'clientId' },
    { name: 'clientSecret', isSecret: true, isOptional: true },
    { name: 'issuer', isOptional: true },
    { name: 'flow', isOptional: true, choices: ['authorizationCode', 'clientCredentials', 'deviceCode'] },
    { name: 'scopes', isOptional: true },
  ],
}

/** The fields of a kind are the members of its credential. */
export function credentialOf(kind: CredentialKind, typed: Readonly<Record<string, string>>): GivenCredential {
  return { kind, ...typed } as unknown as GivenCredential
}
