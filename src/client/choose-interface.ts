/** Which of a card's interfaces to speak to, in which dialect, and why (R-CARD-4, RM-CARD-4, R3-CARD-5). */
import type { DialectName } from '../dialects/dialect.js'
import { type AgentCard, type AgentInterface, type Binding, bindings } from '../model/agent-card.js'
import { clip } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import type { Choice } from './agent-client.js'
import type { CardFamily } from './read-card.js'
import { addressFault, addressOf } from './trusted-origins.js'

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
}

/** What is known of a card, as `resolveCard` gives it. */
export interface Offer {
  readonly card: AgentCard
  readonly family: CardFamily
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
export function chooseWithoutCard(
  url: string,
  wishes: Pick<Wishes, 'binding'> & Required<Pick<Wishes, 'dialect'>>,
): Choice {
  const { dialect } = wishes
  const binding = wishes.binding ?? spoken[dialect][0]
  if (!spoken[dialect].includes(binding))
    throw new TransportError('refused', `${dialect} is not spoken over ${binding}`)
  return { dialect, binding, url, reasons: [`${dialect} over ${binding} at ${url}: asked for, no card was read`] }
}

const mostInterfaces = 100

/** Over which bindings each dialect is spoken, the usual one first. */
const spoken: Readonly<Record<DialectName, readonly [Binding, ...Binding[]]>> = {
  v1: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  'v0.3': ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  'v0.1': ['JSONRPC'],
  'v0.1-go': ['JSONRPC'],
  'task-rest': ['HTTP+JSON'],
  invoke: ['HTTP+JSON', 'JSONRPC'],
  'chat-rpc': ['JSONRPC'],
}

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
  const known = waysOf(binding, version, offer)
  const ways = wishes.dialect === undefined ? known : asked(wishes.dialect, binding, version, known)
  if (ways.length === 0)
    return over(wishes.dialect ? `only ${wishes.dialect} was asked for` : 'its version is not spoken here')
  const wished = ways.filter((way) => wishes.binding === undefined || way.binding === wishes.binding)
  if (wished.length === 0) return over(`only ${wishes.binding} was asked for`)
  if (!wishes.hasGrpc && wished.every((way) => way.binding === 'GRPC')) return over('gRPC cannot be spoken here')
  const url = addressOf(entry.url, binding, offer.url)
  if (url === undefined) return over('its address cannot be read')
  const fault = addressFault(url, { named: offer.origin, allowedOrigins: wishes.allowedOrigins ?? [] })
  if (fault !== undefined) return over(fault)
  return { said, version, url, tenant: entry.tenant, ways: wished }
}

/** What the card means. Patch numbers never matter (RM-CARD-5). */
function waysOf(binding: Binding, version: string, { family, isGuess = false }: Offer): readonly Way[] {
  const named: readonly DialectName[] = dialectsOf(version, binding, family)
  // A card that does not say may be of an agent one version on; -32601 and 404 tell (RM-CARD-3).
  const others: readonly DialectName[] = isGuess
    ? (['v0.1', 'v0.3'] as const).filter((each) => !named.includes(each))
    : []
  return [...named, ...others].flatMap((dialect) => {
    const over = spoken[dialect].find((each) => each === binding) ?? (isGuess ? spoken[dialect][0] : undefined)
    return over ? [{ dialect, binding: over, isGuess }] : []
  })
}

function dialectsOf(version: string, binding: Binding, family: CardFamily): readonly DialectName[] {
  if (version === '1.0') return ['v1']
  if (version === '0.3' || version === '0.2') return ['v0.3']
  if (version !== '0.1') return []
  if (family === 'v0.1-go') return ['v0.1-go']
  return binding === 'HTTP+JSON' ? ['task-rest'] : ['v0.1']
}

/** Dialects that no card names are spoken where their user says so. */
function asked(dialect: DialectName, binding: Binding, version: string, known: readonly Way[]): readonly Way[] {
  const found = known.filter((way) => way.dialect === dialect)
  if (found.length > 0) return found
  if (dialect === 'v1' || dialect === 'v0.3' || !version.startsWith('0.')) return []
  const [usual] = spoken[dialect]
  // Older cards name one address and do not say how it is spoken to.
  return version === '0.1' || spoken[dialect].includes(binding) ? [{ dialect, binding: usual, isGuess: false }] : []
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
