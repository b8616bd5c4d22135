/**
 * Finds the agent that a reference names: reads its card, verifies the signature, chooses the interfaces, and decides which
 * origins get credentials. A name may lead to several instances of one agent.
 */
import { type DialectOutline, hasCard } from '../dialects/client-dialect.js'
import { type ClientDialects, newestClient } from '../dialects/client-dialects.js'
import type { AgentCard } from '../model/agent-card.js'
import type { AgentService } from '../model/service.js'
import { wasNotSent } from '../model/transport-error.js'
import type { Choice } from './agent-client.js'
import { chooseInterface, chooseWithoutCard } from './choose-interface.js'
import { type ClientDialer, type ClientDialerOptions, createClientDialer } from './client-dialer.js'
import type { ConnectOptions, ConnectWarning } from './connect-options.js'
import { certificateOf, sourcesIn } from './credentials/credential.js'
import { authorizeCard, type Callee, dialerOptions, hasGrpc } from './open-interface.js'
import { cardLocations, type ResolvedCard, resolveCard } from './resolve-card.js'
import { explainHost, type ResolvedName, resolveName } from './resolve-name.js'
import { retry, systemTiming } from './retry.js'
import {
  type CardSource,
  dialableOrigins,
  equivalentOrigins,
  isConfidential,
  isTrusted,
  originOf,
  trustedOrigins,
  trustedOriginsOfFound,
} from './trusted-origins.js'
import type { Verification } from './verification.js'
import { verifySignatures } from './verify-card.js'

const maxInstances = 20
const maxSearchMs = 15_000

/** One instance of the agent: its card, and the interfaces to use, best first. */
export interface FoundAgent extends Callee {
  /** Address of the card. Absent if the user passed the card. */
  readonly cardUrl?: string
  readonly choices: readonly Choice[]
  readonly signature: Verification
  readonly warnings: readonly ConnectWarning[]
  close(): Promise<void>
}

/** Options of `connect`, and the handler if the agent is in this process. */
type FindOptions = ConnectOptions & Pick<ClientDialerOptions, 'handle'>

/** Options of dialers for the agent. Requests to other servers, such as those for tokens, never go to the handler. */
function agentDialerOptions({ handle, ...options }: FindOptions): Omit<ClientDialerOptions, 'namedOrigins'> {
  return { ...dialerOptions(options), ...(handle && { handle }) }
}

/** Returns at least one instance. Instances whose card cannot be read are left out while there are others. */
export async function findInstances(
  ref: string | object,
  options: ConnectOptions,
  dialects: ClientDialects,
  warn: (warning: ConnectWarning) => void,
): Promise<readonly FoundAgent[]> {
  // Loaded on use, because web pages rarely call agents in the page.
  const local =
    typeof ref === 'string' ? undefined : await (await import('./in-process.js')).inProcessTarget(ref, options)
  if (local && 'service' in local) return [agentOfService(local.service, local.card)]
  if (local) {
    // Every address leads to the handler. Its card is not cached: other handlers have the same address.
    const { cache: _, ...rest } = options
    const toHandler = { ...rest, handle: local.handle, allowedOrigins: ['*'] }
    const agent = await find(local.url, 'user', toHandler, dialects).catch(async (error: unknown) => {
      await local.close?.()
      throw error
    })
    return [{ ...agent, close: async () => void (await Promise.all([agent.close(), local.close?.()])) }]
  }
  const wanted = options.dialect === undefined ? undefined : dialects.outlines.get(options.dialect)
  const isName = typeof ref === 'string' && (wanted === undefined || hasCard(wanted))
  const name: ResolvedName = isName
    ? await resolveName(ref.trim(), options.resolvers ?? [])
    : { found: ref, source: 'user' }
  const { found, source } = name
  if (!Array.isArray(found)) {
    const agent = await find(found, source, options, dialects).catch((error: unknown) => {
      throw explainHost(error, name)
    })
    return [agent]
  }
  const results = await Promise.allSettled(
    (found as readonly (string | object)[]).slice(0, maxInstances).map((each) => find(each, source, options, dialects)),
  )
  const agents = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  if (agents.length === 0) throw failures[0]
  for (const failure of failures) {
    const reason = failure instanceof Error ? failure.message : 'unknown error'
    warn({ code: 'instance-skipped', message: `Skipped an instance: ${reason}` })
  }
  return agents
}

function agentOfService(service: AgentService, card: AgentCard): FoundAgent {
  const dialer = createClientDialer({ namedOrigins: [] })
  return {
    card,
    service,
    choices: [
      {
        dialect: newestClient.name,
        binding: 'in-process',
        url: 'in-process:',
        reasons: ['Called directly: a service of this process'],
      },
    ],
    dialer,
    trusted: [],
    isSecure: true,
    signature: noSignature,
    warnings: [],
    close: () => dialer.close(),
  }
}

const noSignature: Verification = { state: 'absent', reason: 'There is no card' }

async function find(
  ref: string | object,
  source: CardSource,
  options: FindOptions,
  dialects: ClientDialects,
): Promise<FoundAgent> {
  const { dialect, binding, allowedOrigins = [] } = options
  const cardless = typeof ref === 'string' && source === 'user' ? dialectWithoutCard(ref, dialect, dialects) : undefined
  if (cardless) {
    await dialects.load(cardless.dialect.name)
    return agentWithoutCard(cardless, options)
  }
  const reachable = source === 'user' ? undefined : dialableOrigins(source, options)
  const namedOrigin = typeof ref === 'string' && source === 'user' ? cardLocations(ref).origin : undefined
  const cardDialer = reachable
    ? createClientDialer({ ...agentDialerOptions(options), namedOrigins: reachable })
    : namedOrigin === undefined
      ? undefined
      : dialerWithCertificate([namedOrigin, ...allowedOrigins], options)
  const resolved = await readCard(ref, options, { dialer: cardDialer, namedOrigin, dialects })
  // For a card from a registry, keys that its own origin publishes prove nothing.
  const signature = await verifySignatures(source === 'user' ? resolved : { raw: resolved.raw }, {
    ...(typeof options.signatures === 'string' ? { policy: options.signatures } : options.signatures),
    ...agentDialerOptions(options),
    ...(options.onWire && { wire: { onWire: options.onWire, binding: 'keys' } }),
  })
  const choices = chooseInterface(resolved, {
    hasGrpc: hasGrpc && !options.handle,
    dialects,
    allowedOrigins,
    ...(binding && { binding }),
    ...(dialect && { dialect }),
    ...(options.pin !== undefined && { pin: options.pin }),
  })
  const [first] = choices
  if (first) await dialects.load(first.dialect)
  const urls = choices.map((choice) => choice.url)
  const { dialer, trusted } = reachable
    ? await trustFound(urls, reachable, options, signature, cardDialer)
    : {
        // If any origin is allowed, or the user passed the card, the user named its interfaces.
        dialer:
          cardDialer && !allowedOrigins.includes('*')
            ? cardDialer
            : dialerWithCertificate(
                urls.map((each) => originOf(each) ?? ''),
                options,
              ),
        trusted: trustedOrigins(resolved.origin, urls, allowedOrigins),
      }
  return {
    card: resolved.card,
    ...(resolved.url !== undefined && { cardUrl: resolved.url }),
    choices,
    signature,
    dialer,
    trusted,
    isSecure: resolved.url?.startsWith('https:') ?? false,
    isFound: reachable !== undefined,
    warnings: [
      ...(await cardWarnings(resolved, signature, options)),
      ...withheldWarning(urls[0], trusted, options, reachable !== undefined),
    ],
    close: () => dialer.close(),
  }
}

interface CardSearch {
  readonly dialer: ClientDialer | undefined
  readonly namedOrigin: string | undefined
  readonly dialects: ClientDialects
}

async function readCard(
  ref: string | object,
  options: FindOptions,
  { dialer, namedOrigin, dialects }: CardSearch,
): Promise<ResolvedCard> {
  const { onWire, signal, cache } = options
  const authorize = namedOrigin === undefined ? undefined : await authorizeCard(namedOrigin, options)
  const search = {
    dialects,
    ...(authorize && { authorize }),
    timeoutMs: Math.min(maxSearchMs, options.timeoutMs || maxSearchMs),
    ...(dialer && { dialer }),
    ...(signal && { signal }),
    ...(cache && { cache }),
    ...(onWire && { wire: { onWire, binding: 'card' as const } }),
  }
  // Retry a broken connection. An address that nothing listens on is most likely mistyped.
  const canRetry = (error: unknown) => !wasNotSent(error)
  return await retry(() => resolveCard(ref, search), { ...options.retry, canRetry }, systemTiming, signal)
}

async function trustFound(
  urls: readonly string[],
  reachable: readonly string[],
  options: FindOptions,
  signature: Verification,
  cardDialer: ClientDialer | undefined,
): Promise<Pick<FoundAgent, 'dialer' | 'trusted'>> {
  await cardDialer?.close()
  const trusted = trustedOriginsOfFound(urls, options, signature)
  // A client certificate is a credential too.
  const { credentials: _, ...withoutCertificate } = options
  const areAllTrusted = trusted.length === urls.length
  return { dialer: dialerWithCertificate(reachable, areAllTrusted ? options : withoutCertificate), trusted }
}

function dialerWithCertificate(namedOrigins: readonly string[], options: FindOptions): ClientDialer {
  const certificate = options.credentials && certificateOf(sourcesIn(options.credentials))
  return createClientDialer({ ...agentDialerOptions(options), namedOrigins, ...(certificate && { certificate }) })
}

async function cardWarnings(
  { raw, warnings }: ResolvedCard,
  { state, warning }: Verification,
  { onWarning }: FindOptions,
): Promise<readonly ConnectWarning[]> {
  if (!onWarning) return []
  const { validateCard } = await import('../dialects/validate-card/index.js')
  const errors = validateCard(raw).problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  const problem = first && `The card is not valid: ${first.path || 'card'} ${first.message}${more}`
  return [
    ...[...warnings, ...(problem ? [problem] : [])].map((message) => ({ code: 'card', message }) as const),
    // Few cards are signed, so a missing signature is no warning.
    ...(warning !== undefined && state !== 'absent' ? [{ code: 'signature', message: warning } as const] : []),
  ]
}

/** Explains in advance why calls that need a header or a credential fail. */
function withheldWarning(
  url: string | undefined,
  trusted: readonly string[],
  { headers = {}, credentials }: ConnectOptions,
  isFound: boolean,
): readonly ConnectWarning[] {
  const hasNone = credentials === undefined && Object.keys(headers).length === 0
  if (url === undefined || hasNone || isTrusted(url, trusted)) return []
  const origin = originOf(url) ?? ''
  const canAllow = !isFound || isConfidential(origin)
  const advice = canAllow
    ? 'add it to `allowedOrigins` if it may have them'
    : 'it was found in a registry and does not use https; connect to its address instead of its name'
  const message = `Headers and credentials are not sent to ${origin}: ${advice}`
  return [{ code: 'credentials-withheld', message, origin, canAllow }]
}

interface Cardless {
  readonly url: string
  readonly dialect: DialectOutline
}

/**
 * Returns the address of an agent that has no card, and its dialect, or undefined if there is a card to look for. A path of
 * such a dialect names it: `http://agent.example/a2a/invoke` is called without a card unless another dialect is asked for.
 */
function dialectWithoutCard(ref: string, wanted: string | undefined, dialects: ClientDialects): Cardless | undefined {
  const [first = ref] = cardLocations(ref).urls
  const address = first.split('/.well-known/', 1).join()
  for (const dialect of dialects.outlines.values()) {
    if (hasCard(dialect) || (wanted !== undefined && wanted !== dialect.name)) continue
    const path = dialect.paths?.find((each) => address.endsWith(each))
    if (path !== undefined) return { url: address.slice(0, -path.length), dialect }
    if (wanted !== undefined) return { url: address, dialect }
  }
  return undefined
}

function agentWithoutCard({ url, dialect }: Cardless, options: FindOptions): FoundAgent {
  const choice = chooseWithoutCard(url, dialect, options.binding)
  const trusted = [...equivalentOrigins(new URL(url).origin), ...(options.allowedOrigins ?? [])]
  const dialer = dialerWithCertificate(trusted, options)
  return {
    card: {
      name: new URL(url).host,
      description: 'An agent without a card',
      version: '',
      supportedInterfaces: [],
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    },
    choices: [choice],
    dialer,
    trusted,
    isSecure: false,
    signature: noSignature,
    warnings: [],
    close: () => dialer.close(),
  }
}
