/** From a card of any age to the model's card: which family it is of (RM-CARD-3), and the reader of that family. */
import { decodeCard as decodeTaskRestCard } from '../dialects/task-rest/card.js'
import { decodeCard as decodeV0_1Card } from '../dialects/v0_1/card.js'
import { decodeCard as decodeV0_3Card } from '../dialects/v0_3/card.js'
import { decodeCard as decodeV1Card } from '../dialects/v1/read-card.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'

export type CardFamily = 'v1' | 'v0.3' | 'v0.2' | 'v0.1' | 'v0.1-go' | 'task-rest'

export interface ReadCard {
  readonly card: AgentCard
  readonly family: CardFamily
  /** The card does not say its version: the agent may speak the next best. */
  readonly isGuess: boolean
}

/** Throws `INVALID_AGENT_RESPONSE` for what is no card. The texts in a card are data: nothing here acts on them. */
export function readCard(raw: unknown): ReadCard {
  if (!isObject(raw)) throw new A2AError('INVALID_AGENT_RESPONSE', 'A card is a JSON object')
  const { family, isGuess } = familyOf(raw)
  try {
    const card = readers[family](raw)
    mustHaveShortUrls(card)
    return { card, family, isGuess }
  } catch (caught) {
    if (!(caught instanceof A2AError)) throw caught
    throw new A2AError('INVALID_AGENT_RESPONSE', `The card cannot be read: ${caught.message}`, {
      ...caught.details,
      cause: caught,
    })
  }
}

/** Far beyond any address in use; longer ones only cost the time of their reader. */
const maxUrlLength = 4096

/** Addresses that the client may call: of interfaces, and of authorization servers. */
function mustHaveShortUrls({ supportedInterfaces, securitySchemes = {} }: AgentCard): void {
  const check = (url: unknown, path: string) => {
    if (typeof url === 'string' && url.length > maxUrlLength)
      throw new A2AError('INVALID_AGENT_RESPONSE', `${path} is longer than ${maxUrlLength} characters`)
  }
  for (const [place, { url }] of supportedInterfaces.entries()) check(url, `supportedInterfaces[${place}].url`)
  const visit = (value: unknown, path: string): void => {
    if (!isObject(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (name.endsWith('Url')) check(member, `${path}.${name}`)
      visit(member, `${path}.${name}`)
    }
  }
  visit(securitySchemes, 'securitySchemes')
}

const readers: Readonly<Record<CardFamily, (raw: unknown) => AgentCard>> = {
  v1: decodeV1Card,
  'v0.3': decodeV0_3Card,
  'v0.2': decodeV0_3Card,
  'v0.1': (raw) => decodeV0_1Card(raw),
  'v0.1-go': (raw) => decodeV0_1Card(raw),
  'task-rest': decodeTaskRestCard,
}

type Raw = Readonly<Record<string, unknown>>

function familyOf(raw: Raw): { readonly family: CardFamily; readonly isGuess: boolean } {
  const interfaces = raw.supportedInterfaces ?? raw.supported_interfaces
  // An empty list offers nothing; where there is an address, that one is meant.
  const isEmpty = Array.isArray(interfaces) && interfaces.length === 0 && typeof raw.url === 'string'
  if (interfaces !== undefined && interfaces !== null && !isEmpty) return { family: 'v1', isGuess: false }
  const version = typeof raw.protocolVersion === 'string' ? raw.protocolVersion.trim() : ''
  if (version !== '') return { family: familyOfVersion(version), isGuess: false }
  if (hasAny(raw, 'securitySchemes', 'preferredTransport', 'additionalInterfaces'))
    return { family: 'v0.2', isGuess: !hasAny(raw, 'preferredTransport', 'additionalInterfaces') }
  if (hasAny(raw, 'iconUri')) return { family: 'v0.1-go', isGuess: true }
  if (speaksOfWords(raw)) return { family: 'task-rest', isGuess: true }
  return { family: 'v0.1', isGuess: true }
}

/** By `Major.Minor` (RM-CARD-5). A later card that names one address is written as 0.3's. */
function familyOfVersion(version: string): CardFamily {
  if (/^0\.1(\.|$)/.test(version)) return 'v0.1'
  return /^0\.2(\.|$)/.test(version) ? 'v0.2' : 'v0.3'
}

function hasAny(raw: Raw, ...names: string[]): boolean {
  return names.some((name) => Object.hasOwn(raw, name) && raw[name] !== undefined && raw[name] !== null)
}

const words: ReadonlySet<unknown> = new Set(['text', 'data', 'file'])

/** task-rest's cards know modes only in skills, only as words, and no tags; v0.1's hardly ever look so. */
function speaksOfWords(raw: Raw): boolean {
  if (hasAny(raw, 'defaultInputModes', 'defaultOutputModes', 'documentationUrl')) return false
  if (isObject(raw.capabilities) && hasAny(raw.capabilities, 'stateTransitionHistory')) return false
  const skills: unknown = raw.skills
  const areWords = (modes: unknown) =>
    Array.isArray(modes) && modes.length > 0 && modes.every((mode) => words.has(mode))
  return (
    Array.isArray(skills) &&
    skills.length > 0 &&
    skills.every(
      (skill: unknown) =>
        isObject(skill) && !hasAny(skill, 'tags') && areWords(skill.inputModes) && areWords(skill.outputModes),
    )
  )
}
