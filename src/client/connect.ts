import type { ClientDialect } from '../dialects/client-dialect.js'
import { type ClientDialects, newestClient, withClientDialects } from '../dialects/clients.js'
import type { AgentCard } from '../model/agent-card.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Operation } from '../model/operations.js'
import { assertOptions } from '../model/option-names.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import { wasNotSent } from '../model/transport-error.js'
import { classifyHost } from '../net/addresses.js'
import { applicationTracing } from '../telemetry/tracing.js'
import { createInProcessClient } from '../transports/in-process.js'
import type { AgentClient, CallOptions, Choice } from './agent-client.js'
import { chooseInterface, chooseWithoutCard } from './choose-interface.js'
import { CircuitBreaker, withCircuitBreaker } from './circuit-breaker.js'
import { type ClientDialer, createClientDialer } from './client-dialer.js'
import type { ConnectOptions } from './connect-options.js'
import { createConvenience } from './convenience.js'
import { assertCredentials, certificateOf, listOf } from './credentials/index.js'
import { healing } from './heal.js'
import { type InProcessTarget, inProcessTarget } from './in-process.js'
import { Instances } from './instances.js'
import { InterfaceFallback } from './interface-fallback.js'
import {
  authorizeCard,
  type Callee,
  createCaller,
  hasGrpc,
  isTrusted,
  type OpenOptions,
  openInterface,
  reachOptions,
} from './open-interface.js'
import { connectOptions } from './option-names.js'
import { withPolling } from './poll.js'
import {
  assertResolvers,
  explainHost,
  type FoundName,
  placesOf,
  type ResolvedCard,
  resolveCard,
  resolveName,
} from './resolve-card.js'
import { retry, systemTiming, withRetries } from './retry.js'
import { traceCalls } from './trace-calls.js'
import { type CardSource, cannotBeOverheard, originOf, reachableFrom, trustedOfFound } from './trusted-origins.js'
import { type Verification, type VerifyOptions, verifyCard } from './verify-card.js'
import { fromHttp } from './wire-log.js'

const usualTimeoutMs = 60_000
/** A card is a small file; a caller in a hurry does not wait longer for it than for an answer. */
const longestSearchMs = 15_000
const mostInstances = 20

/**
 * Connects to an agent of any protocol version: reads its card and chooses an interface that both sides support.
 * `choice.reasons` explains the choice.
 *
 * ```ts
 * const agent = await connect('localhost:8001')
 * const { text } = await agent.ask('Hello')
 * ```
 *
 * `ref` is the address, the name or the card of an agent. It can also be in this process, and is then called without a
 * port: a handler (of `createHandler`, or any function from `Request` to `Response`), an `AgentService`, or an agent,
 * which runs until the client is closed. Of a handler with several agents, the first is called.
 */
export async function connect(ref: string | object, options: ConnectOptions = {}): Promise<AgentClient> {
  if (typeof ref !== 'string' && typeof ref !== 'function' && (typeof ref !== 'object' || ref === null))
    throw new TypeError(
      `\`connect\` needs the address, the name or the card of an agent: connect('http://localhost:8001'); got ${String(ref)}`,
    )
  assertOptions('connect', options, connectOptions)
  const dialects = withClientDialects(options.dialects)
  assertOptions('connect', { dialect: options.dialect }, { dialect: [...dialects.keys()] })
  assertCredentials(options.credentials)
  assertResolvers(options.resolvers)
  const warn = options.onWarning ?? (() => undefined)
  const local = await inProcessTarget(ref, options)
  const found = local ? inProcessOptions(local, options) : options
  const targets =
    local && 'service' in local ? [serviceTarget(local)] : await findInstances(local?.url ?? ref, found, dialects, warn)
  const opened = targets.map((target) => openTarget(target, found, dialects, warn))
  const instances = new Instances(opened, ({ ways }, why) => warn(`Went on at ${ways.current.choice.url}: ${why}`))
  const { card, cardUrl, signature } = instances.current.target
  const choice = () => instances.current.ways.current.choice
  const tracing = applicationTracing()
  const reliable = dependable(instances.service(), card, options, dialects)
  const service = tracing ? traceCalls(reliable, tracing, { agent: card.name, card: cardUrl, choice }) : reliable
  const close = async () => {
    await Promise.all(opened.map((each) => each.close()))
    if (local && 'close' in local) await local.close?.()
  }
  return {
    ...operationsOf(service, choice),
    ...createConvenience(service, { newId, timeoutMs: 0, dialect: () => choice().dialect, timing: systemTiming }),
    card,
    signature,
    get choice() {
      return choice()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** One instance of the agent: the ways its card offers. */
function openTarget(target: Target, options: OpenOptions, dialects: ClientDialects, warn: (warning: string) => void) {
  for (const warning of [...target.warnings, ...withheldFrom(target, options)]) warn(warning)
  const timeoutMs = options.timeoutMs ?? usualTimeoutMs
  const caller = createCaller(target, { ...options, timeoutMs }, dialects)
  const open = (choice: Choice) =>
    target.service
      ? { service: createInProcessClient(target.service, { timeoutMs }), close: () => undefined }
      : openInterface(choice, caller(choice))
  const opened = target.choices.map((choice) => ({ choice, ...open(choice) }))
  const ways = new InterfaceFallback(opened, {
    onFallBack: (choice, why) => warn(`Fell back to ${choice.dialect} over ${choice.binding}: ${why}`),
    cardUrl: target.cardUrl,
  })
  const close = async () => {
    for (const each of opened) each.close()
    await target.reach.close()
  }
  return { target, ways, address: target.choices[0]?.url ?? '', service: ways.service(), close }
}

/** Names may stand for several instances; those that cannot even be looked at are left out while others can. */
async function findInstances(
  ref: string | object,
  options: OpenOptions,
  dialects: ClientDialects,
  warn: (warning: string) => void,
): Promise<readonly Target[]> {
  const asked = options.dialect === undefined ? undefined : dialects.get(options.dialect)
  const isName = typeof ref === 'string' && (asked === undefined || asked.card !== undefined)
  const name: FoundName = isName
    ? await resolveName(ref.trim(), options.resolvers ?? [])
    : { found: ref, source: 'user' }
  const { found, source } = name
  if (!Array.isArray(found)) {
    const target = await find(found, options, source, dialects).catch((error: unknown) => {
      throw explainHost(error, name)
    })
    return [target]
  }
  const outcomes = await Promise.allSettled(
    (found as readonly (string | object)[])
      .slice(0, mostInstances)
      .map((each) => find(each, options, source, dialects)),
  )
  const targets = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
  if (targets.length === 0) throw failures[0]
  for (const failure of failures)
    warn(`Left out an instance: ${failure instanceof Error ? failure.message : 'unknown'}`)
  return targets
}

interface Target extends Callee {
  /** Where the card was found; absent when it was given. */
  readonly cardUrl?: string
  readonly choices: readonly Choice[]
  /** Called in place of an interface. */
  readonly service?: AgentService
  readonly signature: Verification
  readonly warnings: readonly string[]
}

/** Every address leads to the handler. Its card is not cached: other handlers have the same address. */
function inProcessOptions(local: InProcessTarget, { cache: _, ...options }: ConnectOptions): OpenOptions {
  return 'handle' in local ? { ...options, handle: local.handle, allowedOrigins: ['*'] } : options
}

function serviceTarget({ service, card }: Extract<InProcessTarget, { readonly service: AgentService }>): Target {
  const url = 'in-process:'
  return {
    card,
    service,
    choices: [
      {
        dialect: newestClient.name,
        binding: 'in-process',
        url,
        reasons: ['Called directly: a service of this process'],
      },
    ],
    reach: createClientDialer({ namedOrigins: [] }),
    trusted: [],
    isSecure: true,
    signature: { state: 'absent', reason: 'There is no card' },
    warnings: [],
  }
}

async function find(
  ref: string | object,
  options: OpenOptions,
  source: CardSource,
  dialects: ClientDialects,
): Promise<Target> {
  const { dialect, binding, allowedOrigins = [] } = options
  const cardless = typeof ref === 'string' && source === 'user' ? withoutCard(ref, dialect, dialects) : undefined
  if (cardless) {
    const { url } = cardless
    const choice = chooseWithoutCard(url, cardless.dialect, binding)
    const origins = [...spellingsOf(new URL(url).origin), ...allowedOrigins]
    const reach = reachFor(origins, options)
    const signature: Verification = { state: 'absent', reason: 'There is no card' }
    return {
      card: unknownAgent(url),
      choices: [choice],
      reach,
      trusted: origins,
      isSecure: false,
      signature,
      warnings: [],
    }
  }
  const reachable = source === 'user' ? undefined : reachableFrom(source, options)
  const home = reachable
    ? createClientDialer({ ...reachOptions(options), namedOrigins: reachable })
    : typeof ref === 'string'
      ? reachFor([placesOf(ref).origin, ...allowedOrigins], options)
      : undefined
  const authorize =
    typeof ref === 'string' && source === 'user' ? authorizeCard(placesOf(ref).origin, options) : undefined
  const search = {
    dialects,
    ...(authorize && { authorize }),
    timeoutMs: Math.min(longestSearchMs, options.timeoutMs || longestSearchMs),
    ...(home && { reach: home }),
    ...(options.signal && { signal: options.signal }),
    ...(options.cache && { cache: options.cache }),
    ...(options.onWire && { onWire: fromHttp(options.onWire, 'card') }),
  }
  // A connection that broke is worth another one; an address where nobody is was most likely mistyped.
  const isWorthIt = (error: unknown) => !wasNotSent(error)
  const retryOptions = { ...options.retry, isWorthIt }
  const resolved = await retry(() => resolveCard(ref, search), retryOptions, systemTiming, options.signal)
  // Keys that the origin of a found card publishes are as unknown as the card.
  const signature = await verifyCard(source === 'user' ? resolved : { raw: resolved.raw }, verifyOptions(options))
  const choices = chooseInterface(resolved, {
    hasGrpc: hasGrpc && !options.handle,
    dialects,
    allowedOrigins,
    ...(binding && { binding }),
    ...(dialect && { dialect }),
    ...(options.pin !== undefined && { pin: options.pin }),
  })
  const about = {
    card: resolved.card,
    ...(resolved.url !== undefined && { cardUrl: resolved.url }),
    choices,
    signature,
    isSecure: resolved.url?.startsWith('https:') ?? false,
    warnings: warningsOf(resolved, signature),
  }
  if (reachable) {
    await home?.close()
    const trusted = trustedOfFound(choices, options, signature)
    // A client certificate is a credential too.
    const { credentials: _, ...withoutCertificate } = options
    const reach = reachFor(reachable, trusted.length === choices.length ? options : withoutCertificate)
    return { ...about, reach, trusted, isFound: true }
  }
  return {
    ...about,
    // Where any origin was allowed, or the card itself was given, its interfaces are what the user named.
    reach:
      home && !allowedOrigins.includes('*')
        ? home
        : reachFor(
            choices.map(({ url }) => originOf(url) ?? ''),
            options,
          ),
    trusted: trustedOrigins(resolved, choices, allowedOrigins),
  }
}

function verifyOptions(options: OpenOptions): VerifyOptions {
  const { signatures = 'warn', onWire } = options
  return {
    ...(typeof signatures === 'string' ? { policy: signatures } : signatures),
    ...reachOptions(options),
    ...(onWire && { onWire: fromHttp(onWire, 'keys') }),
  }
}

function reachFor(namedOrigins: readonly string[], options: OpenOptions): ClientDialer {
  const certificate = options.credentials && certificateOf(listOf(options.credentials))
  return createClientDialer({ ...reachOptions(options), namedOrigins, ...(certificate && { certificate }) })
}

/**
 * An interface that was chosen has been checked against what the user named, so it may be reached. That is no
 * reason to trust it with credentials: another port of the same host may be somebody else's. Whoever gives a
 * card instead of an address has named everything in it.
 */
function trustedOrigins(
  { origin }: ResolvedCard,
  choices: readonly Choice[],
  allowed: readonly string[],
): readonly string[] {
  const named = origin === undefined ? choices.flatMap(({ url }) => originOf(url) ?? []) : spellingsOf(origin)
  return [...new Set([...named, ...allowed])]
}

/** gRPC has no scheme, and this machine has several names. */
function spellingsOf(origin: string): readonly string[] {
  const { protocol, host, hostname, port } = new URL(origin)
  const hosts =
    classifyHost(hostname) === 'loopback' ? loopbackNames.map((name) => `${name}${port && `:${port}`}`) : [host]
  return [...new Set([origin, ...hosts.flatMap((each) => [`${protocol}//${each}`, `grpc://${each}`])])]
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

function warningsOf({ warnings, report }: ResolvedCard, { state, warning }: Verification): readonly string[] {
  const faults = report.problems.filter(({ severity }) => severity === 'error')
  const [first] = faults
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : ''
  return [
    ...warnings,
    ...(first ? [`The card is not valid: ${first.path || 'card'} ${first.message}${more}`] : []),
    // Nearly no card is signed yet; that is no news.
    ...(warning !== undefined && state !== 'absent' ? [warning] : []),
  ]
}

/** Calls that fail for want of a header are easier to understand when somebody said why it was not sent. */
function withheldFrom(target: Target, { headers = {}, credentials }: ConnectOptions): readonly string[] {
  const [first] = target.choices
  const isNothing = credentials === undefined && Object.keys(headers).length === 0
  if (!first || isNothing || isTrusted(first.url, target)) return []
  const origin = originOf(first.url) ?? ''
  const advice =
    target.isFound && !cannotBeOverheard(origin)
      ? 'it was found in a registry and does not use https; name its address instead of looking it up'
      : 'add it to `allowedOrigins` if it may have them'
  return [`Headers and credentials are not sent to ${origin}: ${advice}`]
}

/** The breaker, retries, and healing or polling, from the inside out. */
function dependable(
  service: AgentService,
  card: AgentCard,
  options: ConnectOptions,
  dialects: ClientDialects,
): AgentService {
  const guarded = withCircuitBreaker(service, new CircuitBreaker(options.breaker ?? {}, Date.now))
  const retried = withRetries(guarded, options.retry ?? {}, systemTiming)
  // Said aloud: an agent that does not say whether it streams is tried.
  const canStream = card.capabilities.streaming !== false
  return canStream ? healing(retried, options.retry ?? {}, systemTiming, dialects) : withPolling(retried, systemTiming)
}

/** The operations for those who have nothing to say about themselves. */
function operationsOf(service: AgentService, choice: () => Choice): Pick<AgentClient, Operation> {
  const { unary, streaming } = toGeneric(service)
  const context = (options: CallOptions = {}): CallContext => ({
    ...options,
    // Callers that are services themselves bring a context of their own: what is spoken here is decided here.
    caller: anonymous,
    dialect: choice().dialect,
  })
  const complete = fromGeneric({
    unary: (operation, request, options) => unary(operation, request ?? {}, context(options)),
    streaming: (operation, request, options) => streaming(operation, request ?? {}, context(options)),
  })
  return complete as Pick<AgentClient, Operation> // what a caller leaves out of the context is put in here
}

function newId(): string {
  return crypto.randomUUID()
}

/**
 * The address of an agent that has no card, and its dialect. Absent if there is a card to look for. A path of such a
 * dialect names it: `http://agent.example/a2a/invoke` is called without a card unless another dialect is asked for.
 */
function withoutCard(
  ref: string,
  asked: string | undefined,
  dialects: ClientDialects,
): { readonly url: string; readonly dialect: ClientDialect } | undefined {
  const [first = ref] = placesOf(ref).urls
  const address = first.split('/.well-known/', 1).join()
  for (const dialect of dialects.values()) {
    if (dialect.card || (asked !== undefined && asked !== dialect.name)) continue
    const path = Object.values(dialect.jsonrpc?.paths ?? {}).find((each) => address.endsWith(each))
    if (path !== undefined) return { url: address.slice(0, -path.length), dialect }
    if (asked !== undefined) return { url: address, dialect }
  }
  return undefined
}

/** For agents that have no card: what is known of them is where they are. */
function unknownAgent(url: string): AgentCard {
  return {
    name: new URL(url).host,
    description: 'An agent without a card',
    version: '',
    supportedInterfaces: [],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}
