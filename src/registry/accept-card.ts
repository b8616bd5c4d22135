/**
 * Checks a published card: its size, its validity, its addresses and its signature. The card is untrusted, and other
 * programs will act on it.
 */

import { readCard } from '../client/read-card.js'
import type { Verification } from '../client/verification.js'
import { verifyCard } from '../client/verify-card.js'
import { newestDialect } from '../dialects/servers.js'
import { validateCard } from '../dialects/validate-card/index.js'
import type { AgentCard } from '../model/agent-card.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { AddressRefused } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { invalid, RegistryError, type RegistryProblem } from '../registry-client/registry-error.js'
import type { RegistryLimits } from './registry-limits.js'

export interface CardRules {
  readonly limits: RegistryLimits
  readonly dialer: GuardedDialer
  /** `valid`: cards that follow the rules of their version. `readable`: every card that can be decoded. */
  readonly cards: 'valid' | 'readable'
  /** `require` rejects cards without a valid signature; `record` stores the result of the verification. */
  readonly signatures: 'require' | 'record'
}

export interface AcceptedCard {
  readonly card: AgentCard
  /** The card as it was published, as JSON. */
  readonly published: string
  /** URL of its first interface. */
  readonly url: string
  readonly signature: Pick<Verification, 'state' | 'keyId'>
}

const verifyTimeoutMs = 5000

export async function acceptCard(raw: unknown, rules: CardRules): Promise<AcceptedCard> {
  const { sent, published } = measured(raw, rules.limits)
  if (rules.cards === 'valid') assertValid(sent)
  const read = await readSent(sent)
  assertWithinLimits(read, rules.limits)
  const card = newestDialect.card?.encode(read) as AgentCard // the newest dialect has a card for every agent
  const [first] = card.supportedInterfaces
  if (!first) throw invalid('card.supportedInterfaces', 'must have at least one interface')
  await Promise.all(card.supportedInterfaces.map(({ url }, index) => checkAddress(url, index, rules.dialer)))
  for (const [path, url] of linksOf(card)) assertLink(path, url)
  return { card, published, url: first.url, signature: await verify(sent, first.url, rules) }
}

function measured(raw: unknown, { maxCardBytes }: RegistryLimits) {
  if (!isObject(raw)) throw invalid('card', 'must be a JSON object')
  const published = JSON.stringify(raw)
  if (Buffer.byteLength(published) > maxCardBytes)
    throw new RegistryError('TOO_LARGE', `The card is larger than ${maxCardBytes} bytes`)
  return { sent: raw, published }
}

function assertValid(raw: object): void {
  const problems = validateCard(raw).problems.filter(
    // Many 0.3 agents omit `preferredTransport`, and every client assumes JSONRPC.
    ({ severity, requirement }) => severity === 'error' && requirement !== 'R3-CARD-2',
  )
  const [first] = problems
  if (!first) return
  throw new RegistryError('INVALID', `The card is not valid: ${first.path || 'card'}: ${first.message}`, {
    problems: problems.map(({ path, message }) => ({ path: path === '' ? 'card' : `card.${path}`, message })),
  })
}

async function readSent(raw: object): Promise<AgentCard> {
  try {
    return (await readCard(raw)).card
  } catch (caught) {
    if (!(caught instanceof A2AError)) throw caught
    const problems: readonly RegistryProblem[] = (caught.details.violations ?? []).map(({ field, description }) => ({
      path: `card.${field}`,
      message: description,
    }))
    throw new RegistryError('INVALID', caught.message, { problems, cause: caught })
  }
}

function assertWithinLimits(card: AgentCard, { maxSkills, maxInterfaces }: RegistryLimits): void {
  if (card.skills.length > maxSkills) throw invalid('card.skills', `must have at most ${maxSkills} items`)
  if (card.supportedInterfaces.length > maxInterfaces)
    throw invalid('card.supportedInterfaces', `must have at most ${maxInterfaces} items`)
}

/** gRPC addresses have the form `host:port`; the same rules apply to them. */
async function checkAddress(url: string, index: number, dialer: GuardedDialer): Promise<void> {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(url)
  try {
    await dialer.check(hasScheme ? url : `http://${url}`)
  } catch (caught) {
    if (!(caught instanceof AddressRefused)) throw caught
    const hint = caught.rule === 'place' ? ' (`allowPrivate`, or --allow-private, accepts private addresses)' : ''
    throw invalid(`card.supportedInterfaces[${index}].url`, `${caught.message}${hint}`)
  }
}

/** The registry does not fetch these, but web pages may link to them. */
function linksOf(card: AgentCard): readonly (readonly [path: string, url: string | undefined])[] {
  return [
    ['card.documentationUrl', card.documentationUrl],
    ['card.iconUrl', card.iconUrl],
    ['card.provider.url', card.provider?.url],
  ]
}

function assertLink(path: string, url: string | undefined): void {
  if (url === undefined || url === '' || (canParseUrl(url) && /^https?:$/.test(new URL(url).protocol))) return
  throw invalid(path, 'must be an http or https URL')
}

/** A published card has no origin of its own; the keys of its first interface's origin verify it. */
async function verify(raw: object, url: string, { dialer, signatures }: CardRules): Promise<AcceptedCard['signature']> {
  const origin = canParseUrl(url) ? new URL(url).origin : undefined
  const signal = AbortSignal.timeout(verifyTimeoutMs)
  const found = await verifyCard(
    { raw, ...(origin !== undefined && origin !== 'null' && { origin }) },
    { policy: 'warn', fetch: dialer.fetch as typeof fetch, signal },
  ).catch((): Verification => ({ state: 'unknown-key', reason: 'The keys could not be read in time' }))
  if (signatures === 'require' && found.state !== 'valid')
    throw new RegistryError('INVALID', `A signed card is required: ${found.reason ?? found.state}`)
  return { state: found.state, ...(found.keyId !== undefined && { keyId: found.keyId }) }
}
