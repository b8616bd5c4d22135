/** Validates typed credentials and converts them to credentials of the client. */
import {
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type CredentialSource,
} from '../client/credentials/credential.js'
import { createTokenStore, type OAuth2Options, oauth2 } from '../client/credentials/oauth2.js'
import { isObject } from '../model/is-object.js'
import type { CredentialKind, GivenCredential } from './console-api.js'

/** Connects OAuth 2 flows to the user: by a device code, or by a browser that returns to a redirect address. */
export type LoginPrompts = Required<Pick<OAuth2Options, 'showCode' | 'open' | 'receiver'>>

interface Members {
  readonly needed: readonly string[]
  readonly optional?: readonly string[]
}

const members: Readonly<Record<CredentialKind, Members>> = {
  bearer: { needed: ['token'] },
  apiKey: { needed: ['key'], optional: ['name'] },
  basic: { needed: ['user', 'password'] },
  header: { needed: ['name', 'value'] },
  oauth2: { needed: ['clientId'], optional: ['clientSecret', 'issuer', 'flow', 'scopes'] },
}
const flows = ['clientCredentials', 'deviceCode', 'authorizationCode'] as const
const maxLength = 16 * 1024

/** Reads the known members, which must be non-empty strings on one line; returns undefined if the credential is invalid. */
export function readCredential(value: unknown): GivenCredential | undefined {
  if (!isObject(value) || typeof value.kind !== 'string' || !Object.hasOwn(members, value.kind)) return undefined
  const { needed, optional = [] } = members[value.kind as CredentialKind] // checked above
  const isText = (name: string) => {
    const given = value[name]
    return typeof given === 'string' && given !== '' && given.length <= maxLength && !/\p{Cc}/u.test(given)
  }
  if (!needed.every(isText)) return undefined
  const read = Object.fromEntries([...needed, ...optional].filter(isText).map((name) => [name, value[name]]))
  // An invalid header would be repeated in the error message of the client.
  if (value.kind === 'header' && !(isToken(read.name) && isVisible(read.value))) return undefined
  if ('flow' in read && !flows.some((flow) => flow === read.flow)) return undefined
  return { kind: value.kind, ...read } as unknown as GivenCredential // checked member by member
}

function isToken(name: unknown): boolean {
  return typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)
}

function isVisible(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e\x80-\xff]+$/.test(value)
}

/** Reads credentials by scheme name; invalid ones are left out. */
export function readCredentials(value: unknown): Readonly<Record<string, GivenCredential>> {
  if (!isObject(value)) return {}
  const read = Object.entries(value).map(([scheme, each]) => [scheme, readCredential(each)] as const)
  return Object.fromEntries(read.filter((each): each is [string, GivenCredential] => each[1] !== undefined))
}

/** Returns undefined for a header, which is sent directly, and for OAuth 2 without prompts. */
export function sourceFor(given: GivenCredential, prompts?: LoginPrompts): CredentialSource | undefined {
  switch (given.kind) {
    case 'bearer':
      return bearerCredential(given.token)
    case 'apiKey':
      return apiKeyCredential(given.key, given.name === undefined ? {} : { name: given.name })
    case 'basic':
      return basicCredential(given.user, given.password)
    case 'header':
      return undefined
    case 'oauth2': {
      const { kind: _, scopes, ...options } = given
      const wanted = scopes?.split(/[\s,]+/).filter((scope) => scope !== '')
      return prompts && oauth2({ ...options, ...prompts, ...(wanted && { scopes: wanted }), store: createTokenStore() })
    }
    default:
      throw new TypeError(`Unknown credential ${JSON.stringify(given satisfies never)}`)
  }
}
