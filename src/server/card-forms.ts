/**
 * Encodes one card for readers of every dialect that is offered (RM-CARD-1, RM-CARD-2, RL-02-1), and signs it where the
 * dialect's cards have signatures.
 */
import type { Dialect, DialectName } from '../dialects/dialect.js'
import { newestDialect, serverDialects } from '../dialects/servers.js'
import type { AgentCard, AgentInterface, AgentSkill, CardSigningForm } from '../model/agent-card.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { Signer } from '../signing/signer.js'
import type { OfferedDialects } from './offered-dialects.js'

/** The card for readers that name no version: that of one dialect, or `hybrid`, which readers of several understand. */
export type CardForm = 'hybrid' | DialectName

/** Names of all card forms: dialects that are listed in cards, and those whose card can be merged into another. */
export const cardForms: readonly CardForm[] = [
  'hybrid',
  ...serverDialects.flatMap(({ name, isListed, card }) => (card && (isListed || card.merge) ? [name] : [])),
]

/** The encoded forms of one card. A form is absent if no offered dialect has it. */
export interface EncodedCards {
  /** By the version a reader names, as `Major.Minor`. */
  readonly byVersion: ReadonlyMap<string, object>
  /** For readers that name no version. */
  readonly unversioned: object | undefined
  /** For `/.well-known/agent.json`: dialects whose cards have one address. */
  readonly legacy: object | undefined
  /** For registries. */
  readonly registered: object | undefined
  /** Cards of pinned dialects, by path. */
  readonly pinned: ReadonlyMap<string, object>
}

export interface CardEncodingOptions {
  readonly url: string
  readonly form?: CardForm | undefined
  /** The dialect whose address readers with one address find in a registry's card. */
  readonly registeredFor?: DialectName | undefined
  readonly sign: SignCard
  readonly edit: EditCard
}

export async function encodeCards(
  card: AgentCard,
  { recognised, pinned }: OfferedDialects,
  options: CardEncodingOptions,
): Promise<EncodedCards> {
  const { url, form, registeredFor, sign, edit } = options
  const hasNewest = recognised.some(({ name }) => name === newestDialect.name)
  const edited = edit(card, newestDialect.cardVersion ?? '')
  const newest = newestDialect.card?.encode(edited) as AgentCard // the newest dialect encodes every card
  const signedBy = async (dialects: readonly Dialect[], encoded: object) => await signedFor(dialects, encoded, sign)
  const listed = new Map<string, object>()
  for (const dialect of recognised.filter(({ isListed }) => isListed)) {
    const isNewest = dialect.name === newestDialect.name
    const own = isNewest ? newest : dialect.card?.encode(edit(card, dialect.cardVersion ?? ''))
    if (own) listed.set(dialect.name, own)
  }
  /** Merges the card of a dialect with the newest one's. Both are encoded from one card, so that their skills match. */
  const hybridOf = async (dialect: Dialect) => {
    const own = dialect.card?.encode(dialect.isListed ? edited : withAddress(edited, url, dialect))
    if (!own || !dialect.card?.merge) return undefined
    return hasNewest
      ? await signedBy([newestDialect, dialect], dialect.card.merge(newest, own))
      : await signedBy([dialect], own)
  }
  const cardOf = async (name: string) => {
    const dialect = recognised.find((each) => each.name === name)
    if (!dialect?.isListed) return dialect && (await hybridOf(dialect))
    const own = listed.get(name)
    return own && (await signedBy([dialect], own))
  }
  const first = recognised.find(({ isListed, card: encoder }) => isListed && encoder?.merge)
  const hybrid = hasNewest && first ? await hybridOf(first) : undefined
  const asked = form === undefined ? undefined : form === 'hybrid' ? hybrid : await cardOf(form)
  if (form !== undefined && !asked)
    throw new TypeError(`Card form not available: ${form}; \`dialects\` does not include its dialects`)
  const legacy = legacyCard(recognised, card, options, listed)
  const byVersion = new Map<string, object>()
  for (const { name, versions, isListed, card: encoder } of recognised) {
    const own = isListed ? await cardOf(name) : encoder && legacy
    for (const version of versions) if (own) byVersion.set(version, own)
  }
  const [firstListed] = listed.keys()
  const unversioned = asked ?? hybrid ?? (firstListed === undefined ? legacy : await cardOf(firstListed))
  return {
    byVersion,
    unversioned,
    registered: await registeredCard(registeredFor, unversioned, listed, cardOf),
    legacy,
    pinned: await pinnedCards(pinned, card, { url, sign, edit }),
  }
}

/** The card with a signature for the readers of each of these dialects whose cards have signatures. */
async function signedFor(dialects: readonly Dialect[], encoded: object, sign: SignCard): Promise<object> {
  const forms = dialects.flatMap(({ card }) => card?.signing ?? [])
  return forms.length > 0 ? await sign(encoded, forms) : encoded
}

async function registeredCard(
  dialect: DialectName | undefined,
  unversioned: object | undefined,
  listed: ReadonlyMap<string, object>,
  cardOf: (name: string) => Promise<object | undefined>,
): Promise<object | undefined> {
  if (dialect === undefined || listed.has(dialect)) return unversioned
  const own = await cardOf(dialect)
  if (!own) throw new TypeError(`Dialect not served: ${dialect}; its address cannot be registered`)
  return own
}

/** Members of older cards that dialects encode differently. */
interface OlderCard {
  readonly url?: string
  readonly additionalInterfaces?: readonly { readonly url: string }[]
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly skills?: readonly OlderSkill[]
}

interface OlderSkill {
  readonly id: string
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
}

/** One card for the readers of all dialects whose cards have one address. Members of newer dialects win. */
function legacyCard(
  dialects: readonly Dialect[],
  card: AgentCard,
  { url, edit }: CardEncodingOptions,
  listed: ReadonlyMap<string, object>,
): object | undefined {
  let merged: OlderCard | undefined
  for (const dialect of dialects) {
    if (dialect.name === newestDialect.name) continue
    const own: OlderCard | undefined = dialect.isListed
      ? withPlainAddress(listed.get(dialect.name))
      : dialect.card?.encode(withAddress(edit(card, dialect.cardVersion ?? ''), url, dialect))
    if (own) merged = merged ? { ...own, ...merged, skills: mergedSkills(own, merged) } : own
  }
  return merged
}

/** Older clients append paths such as `/tasks/send` to `url`, so it has no slash at its end. */
function withPlainAddress(card: OlderCard | undefined): OlderCard | undefined {
  if (!card) return undefined
  const { url = '', additionalInterfaces = [] } = card
  const plain = withoutTrailingSlashes(url)
  return {
    ...card,
    url: plain,
    additionalInterfaces: additionalInterfaces.map((each) => (each.url === url ? { ...each, url: plain } : each)),
  }
}

/** Merges the modes of the skills of both cards: some dialects use words (`text`, `data`), others media types. */
function mergedSkills(own: OlderCard, merged: OlderCard): readonly OlderSkill[] {
  const { skills = [], defaultInputModes = [], defaultOutputModes = [] } = merged
  return skills.map((skill) => {
    const { inputModes = [], outputModes = [] } = own.skills?.find(({ id }) => id === skill.id) ?? {}
    return {
      ...skill,
      inputModes: [...new Set([...inputModes, ...(skill.inputModes ?? defaultInputModes)])],
      outputModes: [...new Set([...outputModes, ...(skill.outputModes ?? defaultOutputModes)])],
    }
  })
}

async function pinnedCards(
  pinned: ReadonlyMap<string, Dialect>,
  card: AgentCard,
  { url, sign, edit }: CardEncodingOptions,
): Promise<ReadonlyMap<string, object>> {
  const cards = new Map<string, object>()
  for (const [path, dialect] of pinned) {
    const edited = edit(card, dialect.cardVersion ?? '')
    const encoded = dialect.card?.encode({ ...edited, supportedInterfaces: addressesOf(`${url}${path}`, dialect) })
    if (encoded) cards.set(path, await signedFor([dialect], encoded, sign))
  }
  return cards
}

/** Adds the address that older readers use. They read one address only. */
function withAddress(card: AgentCard, url: string, dialect: Dialect): AgentCard {
  return { ...card, supportedInterfaces: [...card.supportedInterfaces, ...addressesOf(url, dialect)] }
}

function addressesOf(url: string, { cardVersion = '' }: Dialect): AgentInterface[] {
  return ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion: cardVersion }))
}

/** Changes a card. `version` is that of the readers, such as `1.0`: v0.2 counts as `0.3`, the hybrid card as `1.0`. */
export type EditCard = (card: AgentCard, version: string) => AgentCard

/**
 * Applies `edit` within bounds. The result may drop and reorder interfaces of the card, and has the card's own security
 * members: a card must name what the server answers and enforces. Throws `TypeError` for an interface that is not
 * served, and for a result without interfaces if the card lists one of the version.
 */
export function boundedEdit(edit: EditCard | undefined): EditCard {
  if (edit === undefined) return (card) => card
  if (typeof edit !== 'function') throw new TypeError('`editCard` is a function: `(card, version) => card`')
  return (card, version) => {
    // A copy, so that changes in place stay within the same bounds.
    const edited = edit(structuredClone(card), version)
    if (!Array.isArray(edited?.supportedInterfaces) || !Array.isArray(edited.skills))
      throw new TypeError('`editCard` must return a card: `(card, version) => ({ ...card, … })`')
    // Cards of other versions, and those of pinned dialects, get their addresses after the edit.
    const hasVersion = card.supportedInterfaces.some(({ protocolVersion }) => protocolVersion === version)
    if (hasVersion && edited.supportedInterfaces.length === 0)
      throw new TypeError(`\`editCard\` must leave at least one interface on the card of version ${version}`)
    const { securitySchemes: _schemes, securityRequirements: _requirements, signatures: _signatures, ...rest } = edited
    const { securitySchemes, securityRequirements } = card
    return {
      ...rest,
      supportedInterfaces: edited.supportedInterfaces.map((each) => servedAs(each, card)),
      skills: edited.skills.map((skill) => withOwnSecurity(skill, card)),
      ...(securitySchemes && { securitySchemes }),
      ...(securityRequirements && { securityRequirements }),
    }
  }
}

function servedAs({ url, protocolBinding, protocolVersion, tenant }: AgentInterface, card: AgentCard): AgentInterface {
  const served = card.supportedInterfaces.find(
    (each) =>
      each.url === url &&
      each.protocolBinding === protocolBinding &&
      each.protocolVersion === protocolVersion &&
      each.tenant === tenant,
  )
  if (served) return served
  throw new TypeError(
    `\`editCard\` can drop interfaces and not add or change them: ${protocolBinding} ${protocolVersion} at ${url} is not served here`,
  )
}

function withOwnSecurity({ securityRequirements: _edited, ...skill }: AgentSkill, { skills }: AgentCard): AgentSkill {
  const own = skills.find(({ id }) => id === skill.id)?.securityRequirements
  return own ? { ...skill, securityRequirements: own } : skill
}

/** Path of the published keys, below the server's address. */
export const jwksPath = '/.well-known/jwks.json'

/** Adds a signature over each of the forms to the card; returns the card itself if there are no keys. */
export type SignCard = <Card extends object>(card: Card, forms: readonly CardSigningForm[]) => Promise<Card>

/** Extended cards may differ by caller, so signatures are cached. */
const maxCachedSignatures = 256

/** `url` is the server's address, without a slash at its end. */
export function createCardSigning(signer: Signer | undefined, url: string): SignCard {
  if (!signer) return async (card) => card
  const jku = `${url}${jwksPath}`
  const known = new Map<string, Promise<object>>()

  const remember = (key: string, signed: Promise<object>) => {
    known.delete(key)
    known.set(key, signed)
    const [oldest] = known.keys()
    if (known.size > maxCachedSignatures && oldest !== undefined) known.delete(oldest)
  }

  return async <Card extends object>(card: Card, forms: readonly CardSigningForm[]): Promise<Card> => {
    // New keys need new signatures.
    const key = await digest(JSON.stringify([forms, card, signer.jwks()]))
    const signed = known.get(key) ?? signer.signCard(card, jku, forms)
    remember(key, signed)
    try {
      return (await signed) as Card // the key is a digest of this card's text
    } catch (error) {
      // A remote signer may be back for the next reader.
      known.delete(key)
      throw error
    }
  }
}

async function digest(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('base64url')
}
