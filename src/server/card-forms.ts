/**
 * One card, spelled for every kind of reader (RM-CARD-1, RM-CARD-2, RL-02-1), and signed for those whose version
 * knows signatures: v1.0 and 0.3. Older cards, and those of ad-hoc dialects, have no place for them.
 */
import type { Dialect } from '../dialects/dialect.js'
import { hybridCard } from '../dialects/v0_3/card.js'
import { toV1Card } from '../dialects/v1/v1-members.js'
import type { AgentCard, AgentInterface } from '../model/agent-card.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { cardVersionOf, type EditCard } from './edit-card.js'
import type { OfferedDialects } from './offered-dialects.js'
import type { SignCard } from './sign-card.js'

export const cardForms = ['v1', 'hybrid', '0.3', 'chat-rpc'] as const
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
  /** For registries. */
  readonly registered: object | undefined
  /** Cards of pinned dialects, by path. */
  readonly pinned: ReadonlyMap<string, object>
}

export type RegisteredAddress = 'v0.3' | 'chat-rpc'

export interface Spelling {
  readonly url: string
  readonly form?: CardForm | undefined
  /** Whose address older readers find who have the card from a registry. */
  readonly registeredFor?: RegisteredAddress | undefined
  readonly sign: SignCard
  readonly edit: EditCard
}

export async function spellCards(
  card: AgentCard,
  { recognised, pinned }: OfferedDialects,
  { url, form, registeredFor = 'v0.3', sign, edit }: Spelling,
): Promise<SpelledCards> {
  const byName = new Map(recognised.map((dialect) => [dialect.name, dialect]))
  const edited = edit(card, '1.0')
  const current = toV1Card(edited)
  const older = byName.get('v0.3')?.encodeCard?.(edit(card, '0.3'))
  const v1 = byName.has('v1') ? await sign(current, ['v1']) : undefined
  const v0_3 = older && (await sign(older, ['v0.3']))
  const legacy = legacyCard(recognised, withAddress(edit(card, '0.1'), url), older)
  // Both halves of a hybrid come from one card, so that their skills belong together.
  const olderHalf = byName.get('v0.3')?.encodeCard?.(edited)
  const wantsChat = form === 'chat-rpc' || registeredFor === 'chat-rpc'
  const chatHalf = wantsChat ? byName.get('chat-rpc')?.encodeCard?.(withAddress(edited, url)) : undefined
  const forms: Record<CardForm, object | undefined> = {
    v1,
    // Each kind of reader finds a signature of what it reads.
    hybrid: v1 && olderHalf ? await sign(hybridCard(current, olderHalf), ['v1', 'v0.3']) : undefined,
    '0.3': v0_3,
    // Readers of v1.0 find the same interfaces as in every other form.
    'chat-rpc': chatHalf && (await sign(v1 ? hybridCard(current, chatHalf) : chatHalf, v1 ? ['v1', 'v0.3'] : ['v0.3'])),
  }
  if (form !== undefined && !forms[form]) {
    throw new TypeError(`There is no ${form} card to serve: the dialects it speaks of are not offered`)
  }
  const byVersion = new Map<string, object>()
  if (v1) byVersion.set('1.0', v1)
  if (v0_3) byVersion.set('0.3', v0_3).set('0.2', v0_3)
  if (legacy && byName.has('v0.1')) byVersion.set('0.1', legacy)
  const unversioned = (form && forms[form]) ?? forms.hybrid ?? forms.v1 ?? forms['0.3'] ?? legacy
  if (registeredFor === 'chat-rpc' && !chatHalf)
    throw new TypeError('chat-rpc is not spoken here: its address cannot be registered')
  return {
    byVersion,
    unversioned,
    registered: registeredFor === 'chat-rpc' ? forms['chat-rpc'] : unversioned,
    legacy,
    pinned: await pinnedCards(pinned, card, { url, sign, edit }),
  }
}

/** The members of older cards that several dialects spell differently. */
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

/** For readers of 0.2, 0.1 and task-rest at once: members of the one do not get in the way of the others. */
function legacyCard(dialects: readonly Dialect[], card: AgentCard, v0_3: object | undefined): object | undefined {
  let merged: OlderCard | undefined = v0_3 && withPlainAddress(v0_3)
  for (const dialect of dialects) {
    if (dialect.name === 'v1' || dialect.name === 'v0.3') continue
    const own: OlderCard | undefined = dialect.encodeCard?.(card)
    if (own) merged = merged ? { ...own, ...merged, skills: mergedSkills(own, merged) } : own
  }
  return merged
}

/** Older clients append paths such as `/tasks/send` to `url`, so it has no slash at its end. */
function withPlainAddress(card: OlderCard): OlderCard {
  const { url = '', additionalInterfaces = [] } = card
  const plain = withoutTrailingSlashes(url)
  return {
    ...card,
    url: plain,
    additionalInterfaces: additionalInterfaces.map((each) => (each.url === url ? { ...each, url: plain } : each)),
  }
}

/** Skills with the modes of both cards: task-rest has words (`text`, `data`), the others have media types. */
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
  { url, sign, edit }: Spelling,
): Promise<ReadonlyMap<string, object>> {
  const cards = new Map<string, object>()
  for (const [path, { name, versions, encodeCard }] of pinned) {
    const spelled = encodeCard?.({
      ...edit(card, cardVersionOf(name)),
      supportedInterfaces: addressesOf(`${url}${path}`, versions[0] ?? '0.1'),
    })
    if (spelled) cards.set(path, name === 'v1' || name === 'v0.3' ? await sign(spelled, [name]) : spelled)
  }
  return cards
}

/** Dialects that know one address find it, whatever else is offered. */
function withAddress(card: AgentCard, url: string): AgentCard {
  return { ...card, supportedInterfaces: [...card.supportedInterfaces, ...addressesOf(url, '0.1')] }
}

function addressesOf(url: string, protocolVersion: string): AgentInterface[] {
  return ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion }))
}
