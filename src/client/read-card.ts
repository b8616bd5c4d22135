/** Reads a card of any dialect into the model (RM-CARD-3). */
import type { ClientCardForm, DialectOutline } from '../dialects/client-dialect.js'
import { type ClientDialects, withClientDialects } from '../dialects/client-dialects.js'
import type { DialectName } from '../dialects/dialect.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'

export interface ReadCard {
  readonly card: AgentCard
  /** The dialect that the card is written in. */
  readonly dialect: DialectName
  /** The card does not state its version, so the agent may use an alternative of the dialect. */
  readonly isGuess: boolean
}

/** Decodes a card. Rejects with `A2AError` and `INVALID_AGENT_RESPONSE` if the value is not a card. */
export async function readCard(raw: unknown, dialects: ClientDialects = withClientDialects()): Promise<ReadCard> {
  if (!isObject(raw)) throw new A2AError('INVALID_AGENT_RESPONSE', 'A card must be a JSON object')
  const { dialect, isGuess } = recognise(raw, dialects)
  const form = (await dialects.load(dialect)).card as ClientCardForm // it recognised the card
  try {
    const card = form.decode(raw)
    assertShortUrls(card)
    return { card, dialect, isGuess }
  } catch (caught) {
    // Dialects of users may throw anything.
    const { message, details } = caught instanceof A2AError ? caught : { message: `${dialect} failed to decode it` }
    throw new A2AError('INVALID_AGENT_RESPONSE', `The card cannot be read: ${message}`, { ...details, cause: caught })
  }
}

/** Far longer than any address in use. */
const maxUrlLength = 4096

/** Checks the addresses that the client may call: those of interfaces and of authorization servers. */
function assertShortUrls({ supportedInterfaces, securitySchemes = {} }: AgentCard): void {
  const check = (url: unknown, path: string) => {
    if (typeof url === 'string' && url.length > maxUrlLength)
      throw new A2AError('INVALID_AGENT_RESPONSE', `${path} is longer than ${maxUrlLength} characters`)
  }
  for (const [index, { url }] of supportedInterfaces.entries()) check(url, `supportedInterfaces[${index}].url`)
  const visit = (value: unknown, path: string): void => {
    if (!isObject(value)) return
    for (const [name, member] of Object.entries(value)) {
      if (name.endsWith('Url')) check(member, `${path}.${name}`)
      visit(member, `${path}.${name}`)
    }
  }
  visit(securitySchemes, 'securitySchemes')
}

/** Returns the dialect that is most certain; of several, the first. */
function recognise(raw: Readonly<Record<string, unknown>>, dialects: ClientDialects) {
  for (const sureness of ['certain', 'likely', 'possible'] as const) {
    for (const { name, card } of dialects.outlines.values()) {
      if (card && surenessOf(card, raw) === sureness) return { dialect: name, isGuess: sureness !== 'certain' }
    }
  }
  throw new A2AError('INVALID_AGENT_RESPONSE', 'The card cannot be read: it is not a card of any supported version')
}

/** A dialect that throws does not recognise the card. */
function surenessOf(form: NonNullable<DialectOutline['card']>, raw: Readonly<Record<string, unknown>>) {
  try {
    return form.recognise(raw)
  } catch {
    return undefined
  }
}
