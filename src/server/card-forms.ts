/** One card, spelled for every kind of reader (RM-CARD-1, RM-CARD-2, RL-02-1). */
import type { Dialect } from '../dialects/dialect.js'
import { hybridCard } from '../dialects/v0_3/card.js'
import type { AgentCard, AgentInterface } from '../model/agent-card.js'
import type { OfferedDialects } from './offered-dialects.js'

export const cardForms = ['v1', 'hybrid', '0.3'] as const
/** What readers get that name no version. */
export type CardForm = (typeof cardForms)[number]

/** The spellings of one card; those that nothing is offered for are absent. */
export interface SpelledCards {
  /** By the version a reader names, as `Major.Minor`. */
  readonly byVersion: ReadonlyMap<string, object>
  /** For readers that name none. */
  readonly unversioned: object | undefined
  /** For `/.well-known/agent.json`: 0.2 and older. */
  readonly legacy: object | undefined
  /** Cards of pinned dialects, by path. */
  readonly pinned: ReadonlyMap<string, object>
}

export function spellCards(
  card: AgentCard,
  { recognised, pinned }: OfferedDialects,
  options: { readonly url: string; readonly form?: CardForm | undefined },
): SpelledCards {
  const { url, form } = options
  const byName = new Map(recognised.map((dialect) => [dialect.name, dialect]))
  const v1 = byName.get('v1') && card
  const v0_3 = byName.get('v0.3')?.encodeCard?.(card)
  const legacy = legacyCard(recognised, withAddress(card, url), v0_3)
  const forms: Record<CardForm, object | undefined> = {
    v1,
    hybrid: v1 && v0_3 ? hybridCard(v1, v0_3) : undefined,
    '0.3': v0_3,
  }
  if (form !== undefined && !forms[form]) {
    throw new TypeError(`There is no ${form} card to serve: the dialects it speaks of are not offered`)
  }
  const byVersion = new Map<string, object>()
  if (v1) byVersion.set('1.0', v1)
  if (v0_3) byVersion.set('0.3', v0_3).set('0.2', v0_3)
  if (legacy && byName.has('v0.1')) byVersion.set('0.1', legacy)
  return {
    byVersion,
    unversioned: (form && forms[form]) ?? forms.hybrid ?? forms.v1 ?? forms['0.3'] ?? legacy,
    legacy,
    pinned: pinnedCards(pinned, card, url),
  }
}

/** For readers of 0.2 and 0.1 at once: members of the one do not get in the way of the other. */
function legacyCard(dialects: readonly Dialect[], card: AgentCard, v0_3: object | undefined): object | undefined {
  let merged = v0_3
  for (const dialect of dialects) {
    if (dialect.name === 'v1' || dialect.name === 'v0.3') continue
    const own = dialect.encodeCard?.(card)
    if (own) merged = { ...own, ...merged }
  }
  return merged
}

function pinnedCards(pinned: ReadonlyMap<string, Dialect>, card: AgentCard, url: string): ReadonlyMap<string, object> {
  const cards = new Map<string, object>()
  for (const [path, dialect] of pinned) {
    const interfaces = addressesOf(`${url}${path}`, dialect.versions[0] ?? '0.1')
    const spelled = dialect.encodeCard?.({ ...card, supportedInterfaces: interfaces })
    if (spelled) cards.set(path, spelled)
  }
  return cards
}

/** Dialects that know one address find it, whatever else is offered. */
function withAddress(card: AgentCard, url: string): AgentCard {
  return { ...card, supportedInterfaces: [...card.supportedInterfaces, ...addressesOf(url, '0.1')] }
}

function addressesOf(url: string, protocolVersion: string): AgentInterface[] {
  return [
    { url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion },
  ]
}
