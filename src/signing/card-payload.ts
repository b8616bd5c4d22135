/**
 * The payloads that a card signature may cover, for signers and verifiers. The protocol's form keeps the members that
 * v1.0 defines and omits default values (R-SIGN-2, R-SIGN-3). Official SDKs omit all empty values (R-SIGN-7). 0.3 defines
 * no form, so the card as received is signed (R3-CARD-7). Pure.
 */
import canonicalize from 'canonicalize'
import { isObject } from '../model/is-object.js'

/** `strict`: as v1.0 specifies. `as-received`: every member. `stripped`: without empty values, as SDKs sign. */
export type SignedForm = 'strict' | 'as-received' | 'stripped'

export interface SignedPayload {
  readonly form: SignedForm
  /** The content that a valid signature in this form covers. */
  readonly content: object
  /** Some SDKs escape all characters beyond ASCII, unlike the canonical form. */
  readonly isAscii?: boolean
}

type Card = Readonly<Record<string, unknown>>

/** The payload that v1.0 specifies. */
export function strictPayload(card: Card): SignedPayload {
  return { form: 'strict', content: strictCard(withoutSignatures(card)) as object } // objects stay objects
}

/** The payload for cards of 0.3, which does not define the signed members. */
export function receivedPayload(card: Card): SignedPayload {
  return { form: 'as-received', content: withoutSignatures(card) }
}

/** The payload that official SDKs of 0.3 sign. */
export function strippedPayload(card: Card): SignedPayload {
  return { form: 'stripped', content: stripped(withoutSignatures(card)) }
}

/**
 * The payloads that official SDKs of v1.0 sign and verify. All omit empty values. Python escapes characters beyond ASCII.
 * JavaScript loses the security schemes of a card that it has parsed itself.
 */
export function sdkPayloads(card: Card): readonly SignedPayload[] {
  const { content } = strictPayload(card)
  const { securitySchemes: _schemes, ...rest } = content as Card // the result of `strictCard`
  return [
    { form: 'stripped', content: stripped(content) },
    { form: 'stripped', content: stripped(content), isAscii: true },
    { form: 'stripped', content: stripped(rest) },
  ]
}

/** All payloads that may have been signed, in the order in which they are tried. */
export function payloadsOf(card: Card): readonly SignedPayload[] {
  return [strictPayload(card), receivedPayload(card), ...sdkPayloads(card), strippedPayload(card)]
}

function withoutSignatures({ signatures: _signatures, ...card }: Card): Card {
  return card
}

function stripped(content: object): object {
  return (withoutEmpty(content) ?? {}) as object // objects stay objects
}

/** The canonical form (RFC 8785). Throws for values without one: half a surrogate pair, a number that is not finite. */
export function canonicalBytes({ content, isAscii }: SignedPayload): Uint8Array {
  const text = canonicalize(content) ?? ''
  return new TextEncoder().encode(isAscii ? escaped(text) : text)
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Removes empty values at any depth; undefined if nothing is left. */
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
  /** Omitted if it equals the default: the protobuf field has no presence. */
  readonly isPlain: boolean
}

const asIs: Reading = (value) => value
/** A field with presence (required, `optional`, a message or a `oneof`): kept if it is set. */
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

/** The card without members that v1.0 does not define, and without default values. */
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
      // `params` is arbitrary JSON: nothing in it is omitted.
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
