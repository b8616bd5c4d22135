/** A card looked at from all sides: as it is, what is wrong with it, who signed it, what can be spoken. */
import type { Choice } from '../client/agent-client.js'
import { chooseInterface } from '../client/choose-interface.js'
import { createClientDialer } from '../client/client-dialer.js'
import { certificateOf, listOf } from '../client/credentials/index.js'
import { createSender } from '../client/guarded-fetch.js'
import { authorizeCard, hasGrpc } from '../client/open-interface.js'
import { cardSender, placesOf, type ResolvedCard, type ResolveOptions, resolveCard } from '../client/resolve-card.js'
import { verifyCard } from '../client/verify-card.js'
import { readAtMost } from '../net/read-at-most.js'
import { registryResolver } from '../registry/resolvers/registry.js'
import { inWords } from './connections.js'
import type { CardView } from './console-api.js'
import type { Session } from './session.js'

const timeoutMs = 10_000
const maxBytes = 1024 * 1024

export interface CardSource {
  readonly registry?: string | undefined
  readonly registryHeaders?: Readonly<Record<string, string>> | undefined
}

export async function viewCard(session: Session, ref: string, source: CardSource): Promise<CardView> {
  const options = session.connections.optionsFor(ref)
  const { allowedOrigins = [], credentials } = options
  const certificate = credentials && certificateOf(listOf(credentials))
  const target = await targetOf(ref, source)
  const authorize = typeof target === 'string' ? authorizeCard(placesOf(target).origin, options) : undefined
  const shown = { ...(certificate && { certificate }), ...(authorize && { authorize }) }
  const resolved = await resolveCard(target, { timeoutMs, ...shown })
  const [signature, unversioned] = await Promise.all([verifyCard(resolved), readUnversioned(resolved, shown)])
  const { card, raw, url, report, warnings } = resolved
  const offer: { choices: readonly Choice[]; refusal?: string } = { choices: [] }
  try {
    offer.choices = chooseInterface(resolved, { hasGrpc, allowedOrigins }).map(({ isGuess: _, ...choice }) => choice)
  } catch (caught) {
    offer.refusal = inWords(caught).message
  }
  return {
    ...{ card, raw, report, signature, warnings, ...offer },
    ...(url !== undefined && { url }),
    ...(unversioned !== undefined && { unversioned }),
  }
}

async function targetOf(ref: string, { registry, registryHeaders }: CardSource): Promise<string | object> {
  const [, namespace, name] = /^registry:([^/]+)\/(.+)$/.exec(ref) ?? []
  if (namespace === undefined || name === undefined || registry === undefined) return ref
  const resolve = registryResolver(registry, { namespace, ...(registryHeaders && { headers: registryHeaders }) })
  const found = await resolve(name)
  const first: unknown = Array.isArray(found) ? found[0] : found
  if (typeof first !== 'object' || first === null) throw new Error(`The registry knows no ${namespace}/${name}`)
  return first
}

type Shown = Pick<ResolveOptions, 'certificate' | 'authorize'>

/** Clients of older versions name none, and may see another card. */
async function readUnversioned({ url, origin }: ResolvedCard, { certificate, authorize }: Shown): Promise<unknown> {
  if (url === undefined || origin === undefined) return undefined
  const reach = createClientDialer({ namedOrigins: [origin], ...(certificate && { certificate }) })
  try {
    const send = createSender({ reach, headersTimeoutMs: timeoutMs, maxBytes })
    const get = cardSender(send, authorize)
    const headers = { accept: 'application/json' }
    const { response } = await get({ method: 'GET', url, headers, signal: AbortSignal.timeout(timeoutMs) })
    const bytes = response.ok ? await readAtMost(response, maxBytes) : undefined
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown)
  } catch {
    return undefined
  } finally {
    await reach.close()
  }
}
