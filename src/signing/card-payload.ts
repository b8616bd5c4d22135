/**
 * What a signature of a card may be over, for those who sign and those who verify. The protocol's form keeps the
 * members that v1.0 knows and leaves out what equals a default (R-SIGN-2, R-SIGN-3); official SDKs leave out
 * whatever is empty (R-SIGN-7); 0.3 says nothing, and the card as it came is meant (R3-CARD-7). Pure.
 */
import canonicalize from 'canonicalize'
import { isObject } from '../model/is-object.js'

/** `strict`: by the letter of v1.0. `as-received`: every member. `stripped`: without anything empty, as SDKs sign. */
export type SignedForm = 'strict' | 'as-received' | 'stripped'

export interface SignedPayload {
  readonly form: SignedForm
  /** What the signature vouches for, if it is good for this form. */
  readonly content: object
  /** Some SDKs escape everything beyond ASCII, which the canonical form does not. */
  readonly isAscii?: boolean
}

type Card = Readonly<Record<string, unknown>>

/** By the letter of v1.0. */
export function strictPayload(card: Card): SignedPayload {
  return { form: 'strict', content: strictCard(withoutSignatures(card)) as object } // an object in is an object out
}

/** For cards of 0.3, which has no rules that could say which members count. */
export function receivedPayload(card: Card): SignedPayload {
  return { form: 'as-received', content: withoutSignatures(card) }
}

/** What official SDKs of 0.3 would leave of such a card. */
export function strippedPayload(card: Card): SignedPayload {
  return { form: 'stripped', content: stripped(withoutSignatures(card)) }
}

/**
 * What official SDKs of v1.0 sign and verify. All leave out what is empty; Python's escapes everything beyond ASCII;
 * JavaScript's, when it is given a card that it has read itself, loses the security schemes on the way.
 */
export function sdkPayloads(card: Card): readonly SignedPayload[] {
  const { content } = strictPayload(card)
  const { securitySchemes: _schemes, ...rest } = content as Card // strictCard made it
  return [
    { form: 'stripped', content: stripped(content) },
    { form: 'stripped', content: stripped(content), isAscii: true },
    { form: 'stripped', content: stripped(rest) },
  ]
}

/** What may have been signed, in the order in which it is tried. */
export function payloadsOf(card: Card): readonly SignedPayload[] {
  return [strictPayload(card), receivedPayload(card), ...sdkPayloads(card), strippedPayload(card)]
}

function withoutSignatures({ signatures: _signatures, ...card }: Card): Card {
  return card
}

function stripped(content: object): object {
  return (withoutEmpty(content) ?? {}) as object // an object in is an object out
}

/** The canonical form (RFC 8785). Throws for what has none: half a surrogate pair, a number that is none. */
export function canonicalBytes({ content, isAscii }: SignedPayload): Uint8Array {
  const text = canonicalize(content) ?? ''
  return new TextEncoder().encode(isAscii ? escaped(text) : text)
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Nothing that is empty, at any depth; absent when nothing is left. */
export function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null || value === undefined) return undefined
  if (Array.isArray(value)) {
    const left = value.map(withoutEmpty).filter((each) => each !== undefined)
    return left.length > 0 ? left : undefined
  }
  if (!isObject(value)) return value
  const left = Object.entries(value).flatMap(([name, each]) => {
    const inner = withoutEmpty(each)
    return inner === undefined ? [] : [[name, inner] as const]
  })
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

type Reading = (value: unknown) => unknown

interface Member {
  readonly read: Reading
  /** Left out when it equals the default: the field has no presence of its own. */
  readonly isPlain: boolean
}

const asIs: Reading = (value) => value
/** Required, `optional`, a message, or one of several: there when it is set. */
const kept = (read = asIs): Member => ({ read, isPlain: false })
const plain = (read = asIs): Member => ({ read, isPlain: true })

function shape(members: Readonly<Record<string, Member>>): Reading {
  return (value) => {
    if (!isObject(value)) return value
    const result: Record<string, unknown> = {}
    for (const [name, { read, isPlain }] of Object.entries(members)) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined
      if (member === undefined || member === null) continue
      const inner = read(member)
      if (!isPlain || !isDefault(inner)) result[name] = inner
    }
    return result
  }
}

const each =
  (read: Reading): Reading =>
  (value) =>
    Array.isArray(value) ? value.map(read) : value

const mapOf =
  (read: Reading): Reading =>
  (value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, read(inner)])) : value

function isDefault(value: unknown): boolean {
  if (value === '' || value === false || value === 0) return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}

const requirements = plain(each(shape({ schemes: plain(mapOf(shape({ list: plain() }))) })))
const description = plain()
const refreshUrl = plain()

const flows = shape({
  authorizationCode: kept(
    shape({ authorizationUrl: kept(), tokenUrl: kept(), refreshUrl, scopes: kept(), pkceRequired: plain() }),
  ),
  clientCredentials: kept(shape({ tokenUrl: kept(), refreshUrl, scopes: kept() })),
  implicit: kept(shape({ authorizationUrl: plain(), refreshUrl, scopes: plain() })),
  password: kept(shape({ tokenUrl: plain(), refreshUrl, scopes: plain() })),
  deviceCode: kept(shape({ deviceAuthorizationUrl: kept(), tokenUrl: kept(), refreshUrl, scopes: kept() })),
})

const scheme = shape({
  apiKeySecurityScheme: kept(shape({ description, location: kept(), name: kept() })),
  httpAuthSecurityScheme: kept(shape({ description, scheme: kept(), bearerFormat: plain() })),
  oauth2SecurityScheme: kept(shape({ description, flows: kept(flows), oauth2MetadataUrl: plain() })),
  openIdConnectSecurityScheme: kept(shape({ description, openIdConnectUrl: kept() })),
  mtlsSecurityScheme: kept(shape({ description })),
})

/** Without what v1.0 does not know, and without defaults. */
export const strictCard = shape({
  name: kept(),
  description: kept(),
  supportedInterfaces: kept(
    each(shape({ url: kept(), protocolBinding: kept(), tenant: plain(), protocolVersion: kept() })),
  ),
  provider: kept(shape({ url: kept(), organization: kept() })),
  version: kept(),
  documentationUrl: kept(),
  capabilities: kept(
    shape({
      streaming: kept(),
      pushNotifications: kept(),
      // Nothing is left out inside of `params`: it is anybody's JSON.
      extensions: plain(each(shape({ uri: plain(), description, required: plain(), params: kept() }))),
      extendedAgentCard: kept(),
    }),
  ),
  securitySchemes: plain(mapOf(scheme)),
  securityRequirements: requirements,
  defaultInputModes: kept(),
  defaultOutputModes: kept(),
  skills: kept(
    each(
      shape({
        id: kept(),
        name: kept(),
        description: kept(),
        tags: kept(),
        examples: plain(),
        inputModes: plain(),
        outputModes: plain(),
        securityRequirements: requirements,
      }),
    ),
  ),
  iconUrl: kept(),
})
