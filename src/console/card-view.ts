/** Everything that the page shows about a card, and health probes of an agent. */
import type { Choice } from '../client/agent-client.js'
import { chooseInterface } from '../client/choose-interface.js'
import { createClientDialer } from '../client/client-dialer.js'
import { certificateOf, sourcesIn } from '../client/credentials/credential.js'
import { createSender } from '../client/guarded-fetch.js'
import { authorizeCard, hasGrpc } from '../client/open-interface.js'
import {
  cardLocations,
  cardSender,
  type ResolvedCard,
  type ResolveOptions,
  resolveCard,
} from '../client/resolve-card.js'
import { verifyCard } from '../client/verify-card.js'
import { validateCard } from '../dialects/validate-card/index.js'
import { A2AError } from '../model/errors.js'
import { registryResolver } from '../registry/resolvers/registry.js'
import { describeError, probeTaskId, understoodCodes } from './connections.js'
import type { CardView, ProbeStep, ProbeView } from './console-api.js'
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
  const certificate = credentials && certificateOf(sourcesIn(credentials))
  const target = await targetOf(ref, source)
  const authorize = typeof target === 'string' ? await authorizeCard(cardLocations(target).origin, options) : undefined
  const access = { ...(certificate && { certificate }), ...(authorize && { authorize }) }
  const resolved = await resolveCard(target, { timeoutMs, ...access })
  const [signature, unversioned] = await Promise.all([verifyCard(resolved), readUnversioned(resolved, access)])
  const { card, raw, url, warnings } = resolved
  const offer: { choices: readonly Choice[]; refusal?: string } = { choices: [] }
  try {
    offer.choices = chooseInterface(resolved, { hasGrpc, allowedOrigins }).map(({ isGuess: _, ...choice }) => choice)
  } catch (caught) {
    offer.refusal = describeError(caught).message
  }
  return {
    ...{ card, raw, report: validateCard(raw), signature, warnings, ...offer },
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
  if (typeof first !== 'object' || first === null)
    throw new Error(`Agent not found in the registry: ${namespace}/${name}`)
  return first
}

type CardAccess = Pick<ResolveOptions, 'certificate' | 'authorize'>

/** Reads the card without a version header, as clients of older versions do; they may get another card. */
async function readUnversioned(
  { url, origin }: ResolvedCard,
  { certificate, authorize }: CardAccess,
): Promise<unknown> {
  if (url === undefined || origin === undefined) return undefined
  const dialer = createClientDialer({ namedOrigins: [origin], ...(certificate && { certificate }) })
  try {
    const send = createSender({ dialer, headersTimeoutMs: timeoutMs, maxBytes })
    const get = cardSender(send, authorize)
    const headers = { accept: 'application/json' }
    const { response } = await get({ method: 'GET', url, headers, signal: AbortSignal.timeout(timeoutMs) })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  } finally {
    await dialer.close()
  }
}

const probeTimeoutMs = 15_000

/** Probes an agent at three levels: its card, its bindings and, with a text, a call. */
export async function probeAgent(
  session: Session,
  ref: string,
  { text, ...source }: CardSource & { readonly text?: string | undefined },
): Promise<ProbeView> {
  const begun = performance.now()
  try {
    const view = await viewCard(session, ref, source)
    const errors = view.report.problems.filter(({ severity }) => severity === 'error').length
    const detail = errors > 0 ? `${errors} errors in the card` : (view.url ?? 'given by the registry')
    const card = { isGood: true, ms: since(begun), detail }
    const bindings = await Promise.all(
      view.choices.map(async ({ dialect, binding, url }) => ({
        dialect,
        binding,
        url,
        ...(await probeBinding(session, { ref, dialect, ...(binding !== 'in-process' && { binding }) })),
      })),
    )
    const isReachable = bindings.some(({ isGood }) => isGood)
    return { card, bindings, ...(text !== undefined && isReachable && { call: await probeCall(session, ref, text) }) }
  } catch (caught) {
    return { card: { isGood: false, ms: since(begun), detail: describeError(caught).message }, bindings: [] }
  }
}

async function probeBinding(
  session: Session,
  target: Parameters<Session['connections']['open']>[0],
): Promise<ProbeStep> {
  const begun = performance.now()
  try {
    const client = await session.connections.open(target)
    await client.getTask({ id: probeTaskId }, { signal: AbortSignal.timeout(probeTimeoutMs) })
    return { isGood: true, ms: since(begun), detail: 'answers' }
  } catch (caught) {
    const error = describeError(caught)
    const isUnderstood = caught instanceof A2AError && understoodCodes.has(caught.code)
    return { isGood: isUnderstood, ms: since(begun), detail: isUnderstood ? 'answers' : error.message }
  }
}

async function probeCall(session: Session, ref: string, text: string): Promise<ProbeStep> {
  const begun = performance.now()
  try {
    const client = await session.connections.open({ ref })
    const answer = await client.ask(text, { timeoutMs: probeTimeoutMs })
    const isGood = answer.state !== 'TASK_STATE_FAILED' && answer.state !== 'TASK_STATE_REJECTED'
    return { isGood, ms: since(begun), detail: answer.text.slice(0, 200) || answer.state }
  } catch (caught) {
    return { isGood: false, ms: since(begun), detail: describeError(caught).message }
  }
}

function since(begun: number): number {
  return Math.round(performance.now() - begun)
}
