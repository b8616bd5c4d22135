/** Which of a card's interfaces to speak to, in which dialect, and why (R-CARD-4, RM-CARD-4, R3-CARD-5). */
import type { ClientDialect } from '../dialects/client-dialect.js'
import { type ClientDialects, withClientDialects } from '../dialects/clients.js'
import { bindingsOf, type DialectName } from '../dialects/dialect.js'
import { type AgentCard, type AgentInterface, type Binding, bindings } from '../model/agent-card.js'
import { clip } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import type { Choice } from './agent-client.js'
import { interfaceUrl, originProblem } from './trusted-origins.js'

export interface Wishes {
  /** Only this binding. */
  readonly binding?: Binding
  /** Only this dialect. */
  readonly dialect?: DialectName
  /** Only this version of the protocol, such as `1.0`. */
  readonly protocol?: string
  /** One choice or none: no version older than the newest in the card, unless it was asked for, and nothing to fall back on. */
  readonly pin?: boolean
  /** Other origins that interfaces may be at; `*` for all. */
  readonly allowedOrigins?: readonly string[]
  /** gRPC can be spoken here. */
  readonly hasGrpc: boolean
  /** Dialects to choose from. Default: those of this package. */
  readonly dialects?: ClientDialects
}

/** What is known of a card, as `resolveCard` gives it. */
export interface Offer {
  readonly card: AgentCard
  /** The dialect that the card is written in. */
  readonly dialect: DialectName
  readonly isGuess?: boolean
  readonly url?: string
  /** What the user named; absent when the card itself was given, and every address in it with it. */
  readonly origin?: string
}

export interface UsableChoice extends Choice {
  /** The card does not say that this is spoken there; the next choice may be the right one. */
  readonly isGuess: boolean
}

/** The usable choices, best first: at least one, else it throws `refused` and names what the card offers. */
export function chooseInterface(offer: Offer, wishes: Wishes): readonly UsableChoice[] {
  const looked = offer.card.supportedInterfaces.slice(0, mostInterfaces).map((each) => look(each, offer, wishes))
  const passed = wishes.pin ? pinned(looked, wishes) : looked
  const usable = passed.flatMap((each) => ('fault' in each ? [] : each.ways.map((way) => ({ ...each, way }))))
  const [first] = usable
  const reasons = passed.map((each) => reasonFor(each, 'fault' in each ? undefined : each.said === first?.said))
  if (!first) throw nothingUsable(offer.card, reasons)
  const choices = usable.map(({ way, url, said, tenant }) => ({
    dialect: way.dialect,
    binding: way.binding,
    url,
    ...(tenant !== undefined && { tenant }),
    reasons: said === first.said ? reasons : [...reasons, `Then ${said} as ${way.dialect}`],
    isGuess: way.isGuess,
  }))
  return wishes.pin ? choices.slice(0, 1) : choices
}

/** A choice without a card: the only way to dialects that have none (RL-ALL-5). */
export function chooseWithoutCard(url: string, spoken: ClientDialect, wished: Binding | undefined): Choice {
  const { name: dialect } = spoken
  const [first] = bindingsOf(spoken)
  const binding = wished ?? first
  if (binding === undefined || !bindingsOf(spoken).includes(binding))
    throw new TransportError('refused', `${dialect} is not spoken over ${binding ?? 'any binding'}`)
  return { dialect, binding, url, reasons: [`${dialect} over ${binding} at ${url}: asked for, no card was read`] }
}

const mostInterfaces = 100

interface Way {
  readonly dialect: DialectName
  readonly binding: Binding
  readonly isGuess: boolean
}

interface Usable {
  readonly said: string
  readonly version: string
  readonly url: string
  readonly tenant: string | undefined
  /** Best first; more than one when the card leaves it open. */
  readonly ways: readonly Way[]
}

interface PassedOver {
  readonly said: string
  readonly version: string
  readonly fault: string
}

type Looked = Usable | PassedOver

function look(entry: AgentInterface, offer: Offer, wishes: Wishes): Looked {
  const version = majorMinor(entry.protocolVersion)
  const binding = bindings.find((each) => each === entry.protocolBinding.trim().toUpperCase())
  const said = clip(`${entry.protocolBinding} ${entry.protocolVersion} at ${entry.url}`)
  const over = (fault: string): PassedOver => ({ said, version, fault })
  if (binding === undefined) return over('its binding is not known here')
  if (wishes.protocol !== undefined && version !== majorMinor(wishes.protocol))
    return over(`only version ${majorMinor(wishes.protocol)} was asked for`)
  const dialects = wishes.dialects ?? withClientDialects()
  const known = waysOf(binding, version, offer, dialects)
  const spoken = wishes.dialect === undefined ? undefined : dialects.get(wishes.dialect)
  const ways = spoken ? asked(spoken, { binding, version, known, dialects }) : known
  if (ways.length === 0)
    return over(wishes.dialect ? `only ${wishes.dialect} was asked for` : 'its version is not spoken here')
  const wished = ways.filter((way) => wishes.binding === undefined || way.binding === wishes.binding)
  if (wished.length === 0) return over(`only ${wishes.binding} was asked for`)
  if (!wishes.hasGrpc && wished.every((way) => way.binding === 'GRPC')) return over('gRPC cannot be spoken here')
  const url = interfaceUrl(entry.url, binding, offer.url)
  if (url === undefined) return over('its address cannot be read')
  const fault = originProblem(url, { namedOrigin: offer.origin, allowedOrigins: wishes.allowedOrigins ?? [] })
  if (fault !== undefined) return over(fault)
  return { said, version, url, tenant: entry.tenant, ways: wished }
}

/** The dialects that an interface of the card means. Patch numbers never matter (RM-CARD-5). */
function waysOf(
  binding: Binding,
  version: string,
  { dialect, isGuess = false }: Offer,
  dialects: ClientDialects,
): readonly Way[] {
  const named = dialectOf(version, binding, dialect, dialects)
  // Whether the alternative is right, -32601 and 404 show (RM-CARD-3).
  const alternatives = (isGuess && dialects.get(dialect)?.card?.alternatives) || []
  const all = [...(named ? [named] : []), ...alternatives.flatMap((name) => dialects.get(name) ?? [])]
  return all.flatMap((each) => {
    const spoken = bindingsOf(each)
    const over = spoken.includes(binding) ? binding : isGuess ? spoken[0] : undefined
    return over ? [{ dialect: each.name, binding: over, isGuess }] : []
  })
}

/** The dialect of the card wins over others that have the same version and binding. */
function dialectOf(
  version: string,
  binding: Binding,
  dialect: DialectName,
  dialects: ClientDialects,
): ClientDialect | undefined {
  const candidates = [...dialects.values()].filter(
    (each) => (each.versions.includes(version) || each.cardVersion === version) && bindingsOf(each).includes(binding),
  )
  return candidates.find(({ name }) => name === dialect) ?? candidates[0]
}

interface Entry {
  readonly binding: Binding
  readonly version: string
  readonly known: readonly Way[]
  readonly dialects: ClientDialects
}

/** Dialects that cards do not list are spoken where the user names them, unless the interface is of version 1.0 or later. */
function asked(dialect: ClientDialect, { binding, version, known, dialects }: Entry): readonly Way[] {
  const found = known.filter((way) => way.dialect === dialect.name)
  if (found.length > 0) return found
  const spoken = bindingsOf(dialect)
  const [first] = spoken
  if (dialect.isListed || Number.parseInt(version, 10) !== 0 || first === undefined) return []
  // Cards of such versions have one address and no binding.
  const hasOneAddress = [...dialects.values()].some(({ cardVersion, isListed }) => cardVersion === version && !isListed)
  return hasOneAddress || spoken.includes(binding) ? [{ dialect: dialect.name, binding: first, isGuess: false }] : []
}

/** No downgrade: what is older than the newest in the card is passed over, unless a version was asked for. */
function pinned(looked: readonly Looked[], { dialect, protocol }: Wishes): readonly Looked[] {
  if (dialect !== undefined || protocol !== undefined) return looked
  const newest = looked.map((each) => each.version).reduce((a, b) => (isOlder(a, b) ? b : a), '')
  return looked.map((each) =>
    'fault' in each || !isOlder(each.version, newest)
      ? each
      : { said: each.said, version: each.version, fault: `the card offers ${newest}, and nothing older is wanted` },
  )
}

function isOlder(one: string, other: string): boolean {
  const [major = 0, minor = 0] = one.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

function majorMinor(version: string): string {
  return version.trim().replace(/^v/i, '').split('.').slice(0, 2).join('.')
}

function reasonFor(looked: Looked, isFirst: boolean | undefined): string {
  if ('fault' in looked) return `Passed over ${looked.said}: ${looked.fault}`
  return isFirst ? `Took ${looked.said}` : `Kept ${looked.said} to fall back on`
}

function nothingUsable({ name }: AgentCard, reasons: readonly string[]): TransportError {
  const what = reasons.length > 0 ? reasons.map((reason) => reason.replace(/^Passed over /, '')).join('; ') : 'nothing'
  return new TransportError('refused', `${clip(name)} offers no interface that can be used here: ${what}`)
}
