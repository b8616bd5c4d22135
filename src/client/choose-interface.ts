/** Chooses the interfaces of a card to use, and the dialect of each, with reasons (R-CARD-4, RM-CARD-4, R3-CARD-5). */
import type { DialectOutline } from '../dialects/client-dialect.js'
import { type ClientDialects, withClientDialects } from '../dialects/client-dialects.js'
import type { DialectName } from '../dialects/dialect.js'
import { type AgentCard, type AgentInterface, type Binding, bindings } from '../model/agent-card.js'
import { clip } from '../model/errors.js'
import { TransportError } from '../model/transport-error.js'
import type { Choice } from './agent-client.js'
import { interfaceUrl, originProblem } from './trusted-origins.js'

/** Requirements of the user on the interface. */
export interface InterfaceFilter {
  /** Only this binding. */
  readonly binding?: Binding
  /** Only this dialect. */
  readonly dialect?: DialectName
  /** Only this protocol version, such as `1.0`. */
  readonly protocol?: string
  /** Only one choice, without fallback, and of the newest version in the card unless `dialect` or `protocol` is set. */
  readonly pin?: boolean
  /** Other origins that interfaces may have. `*` allows all. */
  readonly allowedOrigins?: readonly string[]
  /** Whether gRPC is available. */
  readonly hasGrpc: boolean
  /** Dialects to choose from. Default: those of this package. */
  readonly dialects?: ClientDialects
}

/** The result of `resolveCard`. */
export interface CardOffer {
  readonly card: AgentCard
  /** The dialect that the card is written in. */
  readonly dialect: DialectName
  readonly isGuess?: boolean
  readonly url?: string
  /** Origin that the user named. Absent if the user passed the card, and so named every address in it. */
  readonly origin?: string
}

interface UsableChoice extends Choice {
  /** The card does not name this dialect, so a later choice may be the right one. */
  readonly isGuess: boolean
}

const maxInterfaces = 100

/** Returns the usable interfaces, best first. Throws `TransportError` with `refused` and the reasons if there is none. */
export function chooseInterface(offer: CardOffer, filter: InterfaceFilter): readonly UsableChoice[] {
  const listed = offer.card.supportedInterfaces.slice(0, maxInterfaces).map((each) => examine(each, offer, filter))
  const examined = filter.pin ? withoutOlder(listed, filter) : listed
  const usable = examined.flatMap((each) => ('problem' in each ? [] : each.options.map((option) => ({ each, option }))))
  const [first] = usable
  const reasons = examined.map((each) => reasonFor(each, each.label === first?.each.label))
  const rejected = examined.flatMap((each, index) =>
    'problem' in each ? [{ index, cause: each.cause, problem: each.problem }] : [],
  )
  if (!first) throw nothingUsable(offer.card, examined)
  const choices = usable.map(({ each: { label, url, tenant }, option }) => ({
    ...option,
    url,
    ...(tenant !== undefined && { tenant }),
    reasons: label === first.each.label ? reasons : [...reasons, `Then ${label} as ${option.dialect}`],
    rejected,
  }))
  return filter.pin ? choices.slice(0, 1) : choices
}

/** Makes a choice for an agent whose dialect has no cards (RL-ALL-5). */
export function chooseWithoutCard(url: string, dialect: DialectOutline, wanted: Binding | undefined): Choice {
  const { name, bindings: supported } = dialect
  const binding = wanted ?? supported[0]
  if (binding === undefined || !supported.includes(binding))
    throw new TransportError(
      'refused',
      `The dialect ${name} is not supported over ${binding ?? 'any binding'}; use ${supported.join(' or ')}`,
    )
  return { dialect: name, binding, url, reasons: [`${name} over ${binding} at ${url}: asked for, no card was read`] }
}

type Outlines = ClientDialects['outlines']

interface DialectOption {
  readonly dialect: DialectName
  readonly binding: Binding
  readonly isGuess: boolean
}

interface UsableInterface {
  /** Binding, version and address as the card has them. */
  readonly label: string
  readonly version: string
  readonly url: string
  readonly tenant: string | undefined
  /** Best first. Several if the card does not name its version. */
  readonly options: readonly DialectOption[]
}

interface UnusableInterface {
  readonly label: string
  readonly version: string
  readonly cause: 'unsupported' | 'option' | 'address'
  readonly problem: string
}

type ExaminedInterface = UsableInterface | UnusableInterface

function examine(entry: AgentInterface, offer: CardOffer, filter: InterfaceFilter): ExaminedInterface {
  const version = majorMinor(entry.protocolVersion)
  const binding = bindings.find((each) => each === entry.protocolBinding.trim().toUpperCase())
  const label = clip(`${entry.protocolBinding} ${entry.protocolVersion} at ${entry.url}`)
  const unusable = (cause: UnusableInterface['cause'], problem: string) => ({ label, version, cause, problem })
  if (binding === undefined) return unusable('unsupported', 'its binding is not supported')
  if (filter.protocol !== undefined && version !== majorMinor(filter.protocol))
    return unusable('option', `only version ${majorMinor(filter.protocol)} was asked for`)
  const { outlines: dialects } = filter.dialects ?? withClientDialects()
  const known = optionsFor(binding, version, offer, dialects)
  const wanted = filter.dialect === undefined ? undefined : dialects.get(filter.dialect)
  const possible = wanted ? optionsIn(wanted, { binding, version, known, dialects }) : known
  if (possible.length === 0)
    return filter.dialect
      ? unusable('option', `only ${filter.dialect} was asked for`)
      : unusable('unsupported', 'its version is not supported')
  const options = possible.filter((option) => filter.binding === undefined || option.binding === filter.binding)
  if (options.length === 0) return unusable('option', `only ${filter.binding} was asked for`)
  if (!filter.hasGrpc && options.every((option) => option.binding === 'GRPC'))
    return unusable('unsupported', 'gRPC is not available')
  const url = interfaceUrl(entry.url, binding, offer.url)
  if (url === undefined) return unusable('address', 'its address is invalid')
  const problem = originProblem(url, { namedOrigin: offer.origin, allowedOrigins: filter.allowedOrigins ?? [] })
  if (problem !== undefined) return unusable('address', problem)
  return { label, version, url, tenant: entry.tenant, options }
}

/** Returns the dialects that an interface of the card may use. Patch numbers are ignored (RM-CARD-5). */
function optionsFor(
  binding: Binding,
  version: string,
  { dialect, isGuess = false }: CardOffer,
  dialects: Outlines,
): readonly DialectOption[] {
  const named = dialectOf(version, binding, dialect, dialects)
  // -32601 and 404 show whether an alternative is right (RM-CARD-3).
  const alternatives = (isGuess && dialects.get(dialect)?.card?.alternatives) || []
  const all = [...(named ? [named] : []), ...alternatives.flatMap((name) => dialects.get(name) ?? [])]
  return all.flatMap((each) => {
    const { bindings: supported } = each
    const used = supported.includes(binding) ? binding : isGuess ? supported[0] : undefined
    return used ? [{ dialect: each.name, binding: used, isGuess }] : []
  })
}

/** The dialect of the card wins over others that have the same version and binding. */
function dialectOf(
  version: string,
  binding: Binding,
  dialect: DialectName,
  dialects: Outlines,
): DialectOutline | undefined {
  const candidates = [...dialects.values()].filter(
    (each) => (each.versions.includes(version) || each.cardVersion === version) && each.bindings.includes(binding),
  )
  return candidates.find(({ name }) => name === dialect) ?? candidates[0]
}

interface KnownOptions {
  readonly binding: Binding
  readonly version: string
  readonly known: readonly DialectOption[]
  readonly dialects: Outlines
}

/** A dialect that cards do not list is used if the user names it and the interface is older than version 1.0. */
function optionsIn(
  dialect: DialectOutline,
  { binding, version, known, dialects }: KnownOptions,
): readonly DialectOption[] {
  const found = known.filter((option) => option.dialect === dialect.name)
  if (found.length > 0) return found
  const { bindings: supported } = dialect
  const [first] = supported
  if (dialect.isListed || Number.parseInt(version, 10) !== 0 || first === undefined) return []
  // Cards of such versions have one address and no binding.
  const hasOneAddress = [...dialects.values()].some(({ cardVersion, isListed }) => cardVersion === version && !isListed)
  return hasOneAddress || supported.includes(binding) ? [{ dialect: dialect.name, binding: first, isGuess: false }] : []
}

/** Prevents a downgrade: rejects interfaces older than the newest in the card, unless the user names a version. */
function withoutOlder(
  examined: readonly ExaminedInterface[],
  { dialect, protocol }: InterfaceFilter,
): readonly ExaminedInterface[] {
  if (dialect !== undefined || protocol !== undefined) return examined
  const newest = examined.map(({ version }) => version).reduce((a, b) => (isOlder(a, b) ? b : a), '')
  return examined.map((each) => {
    if ('problem' in each || !isOlder(each.version, newest)) return each
    const { label, version } = each
    return { label, version, cause: 'option', problem: `the card offers ${newest}, and \`pin\` allows nothing older` }
  })
}

function isOlder(one: string, other: string): boolean {
  const [major = 0, minor = 0] = one.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

function majorMinor(version: string): string {
  return version.trim().replace(/^v/i, '').split('.').slice(0, 2).join('.')
}

function reasonFor(examined: ExaminedInterface, isFirst: boolean): string {
  if ('problem' in examined) return `Passed over ${examined.label}: ${examined.problem}`
  return isFirst ? `Took ${examined.label}` : `Kept ${examined.label} as a fallback`
}

function nothingUsable({ name }: AgentCard, examined: readonly ExaminedInterface[]): TransportError {
  const problems = examined.flatMap((each) => ('problem' in each ? [`${each.label}: ${each.problem}`] : []))
  const list = problems.join('; ') || 'none'
  return new TransportError('refused', `${clip(name)} offers no interface that can be used: ${list}`)
}
