/**
 * `connect` finds an agent and opens its interfaces as one `AgentService`, with layers around it. A call passes them from
 * top to bottom:
 *
 * | Layer | File |
 * |---|---|
 * | `ask`, `stream`, `conversation`, `task` | `convenience.ts` |
 * | One span per call | `trace-calls.ts` |
 * | Reconnect broken streams, or poll an agent that cannot stream | `reconnect-stream.ts`, `poll.ts` |
 * | Retry calls that are safe to repeat | `retry.ts` |
 * | Stop calling an agent that does not answer | `circuit-breaker.ts` |
 * | Next instance of the agent | `instance-fallback.ts` |
 * | Next interface of the card | `interface-fallback.ts` |
 * | Transport, headers and credentials of one interface | `open-interface.ts` |
 *
 * Before that, `find-agent.ts` goes from the reference to the card (`resolve-name.ts`, `resolve-card.ts`), its signature
 * (`verify-card.ts`) and the interfaces to use (`choose-interface.ts`). Every request goes through `guarded-fetch.ts`.
 */
import { type ClientDialects, withClientDialects } from '../dialects/client-dialects.js'
import { assertUri } from '../model/extension.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import { isObject } from '../model/is-object.js'
import type { Operation } from '../model/operations.js'
import { assertOptions } from '../model/option-names.js'
import { type AgentService, anonymous, type CallContext } from '../model/service.js'
import { loadTelemetry } from '../telemetry/api.js'
import type { AgentClient, CallOptions, Choice } from './agent-client.js'
import { CircuitBreaker, withCircuitBreaker } from './circuit-breaker.js'
import { type ConnectOptions, type ConnectTarget, type ConnectWarning, connectOptionNames } from './connect-options.js'
import { createConvenience } from './convenience.js'
import { assertCredentials } from './credentials/credential.js'
import { type FoundAgent, findInstances } from './find-agent.js'
import type { InstanceFallback } from './instance-fallback.js'
import { InterfaceFallback } from './interface-fallback.js'
import { createOpener } from './open-interface.js'
import { withPolling } from './poll.js'
import { withReconnect } from './reconnect-stream.js'
import { assertResolvers } from './resolve-name.js'
import { systemTiming, withRetries } from './retry.js'

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
 * which runs until the client is closed: `close` aborts its turns. Of a handler with several agents, the first is called.
 *
 * Throws `TransportError` if the agent cannot be reached or offers no interface that can be used, and `A2AError` if its
 * card is protected or cannot be read.
 */
export async function connect(ref: ConnectTarget, options: ConnectOptions = {}): Promise<AgentClient> {
  assertTarget(ref)
  assertOptions('connect', options, connectOptionNames)
  const dialects = withClientDialects(options.dialects)
  assertOptions('connect', { dialect: options.dialect }, { dialect: [...dialects.outlines.keys()] })
  assertCredentials(options.credentials)
  assertResolvers(options.resolvers)
  const asked = extensionsIn(options)
  const warn = warnWith(options.onWarning)
  const found = await findInstances(ref, options, dialects, warn)
  const opened = await Promise.all(found.map((agent) => openInstance(agent, options, dialects, warn)))
  const instances = await instancesOf(opened, warn)
  const { agent } = instances.current
  const choice = () => instances.current.interfaces.current.choice
  const layers = await withLayers(instances.service(), { agent, choice, options, dialects })
  const service = asked.length > 0 ? withExtensions(layers, () => declaredOf(asked, instances.current)) : layers
  const close = async () => {
    await Promise.all(opened.map((each) => each.close()))
  }
  return {
    ...operationsOf(service, choice),
    ...createConvenience(service, { dialect: () => choice().dialect, timing: systemTiming }),
    card: agent.card,
    signature: agent.signature,
    get choice() {
      return choice()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Ignores errors of `onWarning`: a warning must not fail a call, or leave a started agent running. */
function warnWith(onWarning: ConnectOptions['onWarning']): (warning: ConnectWarning) => void {
  return (warning) => {
    try {
      onWarning?.(warning)
    } catch {}
  }
}

function assertTarget(ref: unknown): void {
  if (Array.isArray(ref))
    throw new TypeError(
      '`connect` needs one agent, got a list. For several instances of an agent use `connectAgents({ Name: [...] })`',
    )
  if (typeof ref === 'string' || typeof ref === 'function' || isObject(ref)) return
  throw new TypeError(
    `\`connect\` needs the address, the name or the card of an agent: connect('http://localhost:8001'); got ${String(ref)}`,
  )
}

async function openInstance(
  agent: FoundAgent,
  options: ConnectOptions,
  dialects: ClientDialects,
  warn: (warning: ConnectWarning) => void,
) {
  for (const warning of agent.warnings) warn(warning)
  const opened = agent.choices.map(await createOpener(agent, options, dialects))
  const interfaces = new InterfaceFallback(opened, {
    cardUrl: agent.cardUrl,
    onFallback(choice, reason) {
      const message = `Fell back to ${choice.dialect} over ${choice.binding}: ${reason}`
      warn({ code: 'interface-fallback', message, choice })
    },
  })
  const close = async () => {
    for (const each of opened) each.close()
    await agent.close()
  }
  return { agent, interfaces, address: agent.choices[0]?.url ?? '', service: interfaces.service(), close }
}

type Instance = Awaited<ReturnType<typeof openInstance>>

async function instancesOf(
  opened: readonly Instance[],
  warn: (warning: ConnectWarning) => void,
): Promise<Pick<InstanceFallback<Instance>, 'current' | 'service'>> {
  const [only, ...others] = opened
  if (only && others.length === 0) return { current: only, service: () => only.service }
  const { InstanceFallback } = await import('./instance-fallback.js')
  return new InstanceFallback(opened, ({ interfaces }, reason) => {
    const { url } = interfaces.current.choice
    warn({ code: 'instance-fallback', message: `Switched to ${url}: ${reason}`, url })
  })
}

interface LayerDeps {
  readonly agent: FoundAgent
  readonly choice: () => Choice
  readonly options: ConnectOptions
  readonly dialects: ClientDialects
}

async function withLayers(
  service: AgentService,
  { agent, choice, options, dialects }: LayerDeps,
): Promise<AgentService> {
  const { card, cardUrl } = agent
  const { breaker = {}, retry = {} } = options
  const guarded = withCircuitBreaker(service, new CircuitBreaker(breaker, Date.now))
  const retried = withRetries(guarded, retry, systemTiming)
  // A card that does not mention streaming is tried.
  const canStream = card.capabilities.streaming !== false
  const followed = canStream
    ? withReconnect(retried, retry, systemTiming, dialects)
    : withPolling(retried, systemTiming)
  if (!(await loadTelemetry())) return followed
  const { traceCalls } = await import('./trace-calls.js')
  return traceCalls(followed, { agent: card.name, card: cardUrl, choice })
}

/** The URIs in the option `extensions`. */
function extensionsIn({ extensions = [] }: ConnectOptions): readonly string[] {
  return extensions.map((each: unknown) => {
    const uri = isObject(each) ? each.uri : each
    assertUri(uri)
    return uri
  })
}

/** The extensions that the card of the agent declares. A service in this process may have no card: its agent decides. */
function declaredOf(asked: readonly string[], { agent: { card }, interfaces }: Instance): readonly string[] {
  if (interfaces.current.choice.binding === 'in-process') return asked
  return asked.filter((uri) => card.capabilities.extensions?.some((declared) => declared.uri === uri))
}

/** Names extensions in every call, beside those that the call names itself. */
function withExtensions(service: AgentService, asked: () => readonly string[]): AgentService {
  const { unary, streaming } = toGeneric(service)
  const naming = (context: CallContext): CallContext => {
    const extensions = [...new Set([...(context.extensions ?? []), ...asked()])]
    return extensions.length > 0 ? { ...context, extensions } : context
  }
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, request, naming(context)),
    streaming: (operation, request, context) => streaming(operation, request, naming(context)),
  })
}

/** Completes the context of each call, so that callers pass options only. */
function operationsOf(service: AgentService, choice: () => Choice): Pick<AgentClient, Operation> {
  const { unary, streaming } = toGeneric(service)
  const contextOf = (options: CallOptions = {}): CallContext => ({
    ...options,
    // A service that forwards a call passes its own context: caller and dialect of this connection replace it.
    caller: anonymous,
    dialect: choice().dialect,
  })
  const complete = fromGeneric({
    unary: (operation, request, options) => unary(operation, request ?? {}, contextOf(options)),
    streaming: (operation, request, options) => streaming(operation, request ?? {}, contextOf(options)),
  })
  return complete as Pick<AgentClient, Operation> // missing members of the context are filled in above
}
