/** Credentials as people type them into the page, and what a client makes of them. */
import {
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type CredentialSource,
} from '../client/credentials/credential.js'
import { createTokenStore, type OAuth2Options, oauth2 } from '../client/credentials/oauth2.js'
import { isObject } from '../model/is-object.js'
import type { CredentialKind, GivenCredential } from './console-api.js'

/** How the person is asked for what only a browser or another device can give. */
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

/** Known members alone, each of them a text on one line that is not empty; absent when it is no credential. */
export function readCredential(value: unknown): GivenCredential | undefined {
  if (!isObject(value) || typeof value.kind !== 'string' || !Object.hasOwn(members, value.kind)) return undefined
  const { needed, optional = [] } = members[value.kind as CredentialKind] // it is one of them
  const isText = (name: string) => {
    const given = value[name]
    return typeof given === 'string' && given !== '' && given.length <= maxLength && !/\p{Cc}/u.test(given)
  }
  if (!needed.every(isText)) return undefined
  const read = Object.fromEntries([...needed, ...optional].filter(isText).map((name) => [name, value[name]]))
  // What no header can be would be repeated by whoever refuses it.
  if (value.kind === 'header' && !(isToken(read.name) && isVisible(read.value))) return undefined
  if ('flow' in read && !flows.some((flow) => flow === read.flow)) return undefined
  return { kind: value.kind, ...read } as unknown as GivenCredential // looked at member by member
}

function isToken(name: unknown): boolean {
  return typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(name)
}

function isVisible(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e\x80-\xff]+$/.test(value)
}

/** By the names of schemes; what is no credential is left out. */
export function readCredentials(value: unknown): Readonly<Record<string, GivenCredential>> {
  if (!isObject(value)) return {}
  const read = Object.entries(value).map(([scheme, each]) => [scheme, readCredential(each)] as const)
  return Object.fromEntries(read.filter((each): each is [string, GivenCredential] => each[1] !== undefined))
}

/** Absent for a header, which is sent as it is, and for logins where nobody can be asked. */
export function sourceFor(given: GivenCredential, asking?: LoginPrompts): CredentialSource | undefined {
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
      return asking && oauth2({ ...options, ...asking, ...(wanted && { scopes: wanted }), store: createTokenStore() })
    }
    default:
      throw new TypeError(`No credential ${JSON.stringify(given satisfies never)}`)
  }
}
