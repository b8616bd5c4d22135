/** Opens one interface of an agent as an `AgentService`: the transport of its binding, with headers and credentials. */
import type { ClientDialect, ClientFacts } from '../dialects/client-dialect.js'
import type { ClientDialects } from '../dialects/client-dialects.js'
import type { AgentCard } from '../model/agent-card.js'
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric, toGeneric } from '../model/generic-service.js'
import { loadPackage } from '../model/load-package.js'
import type { AgentService, StreamItem } from '../model/service.js'
import { userAgent } from '../model/user-agent.js'
import { isNode } from '../net/runtime.js'
import type { GrpcClientOptions } from '../transports/grpc/client.js'
import type { HttpSender } from '../transports/http-client.js'
import { createJsonRpcClient } from '../transports/jsonrpc/client.js'
import { createRestClient } from '../transports/rest/client.js'
import type { Choice } from './agent-client.js'
import type { ClientDialer, ClientDialerOptions } from './client-dialer.js'
import type { ConnectOptions } from './connect-options.js'
import type { Authorizer } from './credentials/authorizer.js'
import { certificateOf, sourcesIn } from './credentials/credential.js'
import { createSender, type GuardedRequest } from './guarded-fetch.js'
import { isTrusted, originOf } from './trusted-origins.js'

/** The agent whose interfaces are opened. */
export interface Callee {
  readonly card: AgentCard
  /** The client of a service in this process, which is called in place of an interface. */
  readonly service?: AgentService
  readonly dialer: ClientDialer
  /** Origins that get headers and credentials. */
  readonly trusted: readonly string[]
  /** The card came over https, so gRPC, whose addresses have no scheme, uses TLS. */
  readonly isSecure: boolean
  /** The card came from a registry, so gRPC dials only addresses that the guard has checked. */
  readonly isFound?: boolean
}

interface OpenedInterface {
  readonly choice: Choice
  readonly service: AgentService
  close(): void
}

/** Whether gRPC is available: it needs Node, and bundles for browsers do not contain it. */
export const hasGrpc: boolean = isNode()

const maxMessageBytes = 64 * 1024 * 1024
const defaultTimeoutMs = 60_000
/** The longest delay of `setTimeout`. */
const maxTimerMs = 0x7fff_ffff

/** The time limit of a call. 0: no limit. */
export function callTimeoutMs({ timeoutMs = defaultTimeoutMs }: ConnectOptions): number {
  return Math.min(timeoutMs, maxTimerMs)
}

/** Loaded on use: calls without credentials do not need it. */
const loadAuthorizer = () => import('./credentials/authorizer.js')

/** Returns a function that opens interfaces of one agent. They share the credentials. */
export async function createOpener(
  callee: Callee,
  options: ConnectOptions,
  dialects: ClientDialects,
): Promise<(choice: Choice) => OpenedInterface> {
  const { credentials, headers = {} } = options
  const timeoutMs = callTimeoutMs(options)
  const credentialed = credentials && (await loadAuthorizer())
  const authorizer = credentialed?.createAuthorizer(callee.card, credentials, {
    origins: callee.trusted,
    sender: (namedOrigins) => createSender({ ...dialerOptions(options), namedOrigins }),
  })
  const authorize = (send: HttpSender) =>
    credentialed && authorizer ? credentialed.withCredentials(send, authorizer) : send
  const deps: OpenDeps = { callee, options, dialects, timeoutMs, authorizer, authorize }
  return (choice) => {
    const { url, tenant } = choice
    if (callee.service) return { choice, service: callee.service, close: () => undefined }
    const sentHeaders = isTrusted(url, callee.trusted) ? headers : {}
    const { service, close } = open(choice, deps, sentHeaders)
    const sendsHeader = Object.keys(sentHeaders).some((name) => isCredentialHeader(name, callee.card))
    const explained =
      sendsHeader || authorizer?.sendsTo(url)
        ? mapErrors(service, (error) => explainRefusal(error, authorizer))
        : service
    return { choice, service: tenant === undefined ? explained : withTenant(explained, tenant), close }
  }
}

interface OpenDeps {
  readonly callee: Callee
  readonly options: ConnectOptions
  readonly dialects: ClientDialects
  readonly timeoutMs: number
  readonly authorizer: Authorizer | undefined
  /** Adds the credentials of the authorizer to requests. */
  readonly authorize: (send: HttpSender) => HttpSender
}

type OpenService = Pick<OpenedInterface, 'service' | 'close'>

function open(choice: Choice, deps: OpenDeps, headers: Headers): OpenService {
  const { dialects } = deps
  const isGrpc = choice.binding === 'GRPC'
  const dialect = dialects.loaded(choice.dialect)
  if (dialect && !isGrpc) return openHttp(choice, dialect, deps)
  return openOnUse(async () => {
    const used = await dialects.load(choice.dialect)
    return isGrpc ? await openGrpc(choice, used, deps, headers) : openHttp(choice, used, deps)
  })
}

function openHttp(choice: Choice, dialect: ClientDialect, deps: OpenDeps): OpenService {
  const { binding, url } = choice
  const { callee, options, timeoutMs, authorize } = deps
  const { headers = {}, onWire } = options
  const plain = createSender({
    dialer: callee.dialer,
    headersTimeoutMs: timeoutMs === 0 ? maxTimerMs : timeoutMs,
    ...(timeoutMs > 0 && { bodyTimeoutMs: timeoutMs }),
    ...(onWire && { wire: { onWire, binding } }),
  })
  const send = withHeaders(plain, headers, callee.trusted)
  const given = {
    url,
    dialect,
    send: authorize(send),
    facts: factsFor(options),
  }
  const service = binding === 'JSONRPC' ? createJsonRpcClient(given) : createRestClient(given)
  return { service, close: () => undefined }
}

async function openGrpc(
  { url }: Choice,
  dialect: ClientDialect,
  { callee, options, timeoutMs, authorizer }: OpenDeps,
  headers: Headers,
): Promise<OpenService> {
  const { credentials, onWire } = options
  const certificate = credentials && certificateOf(sourcesIn(credentials))
  const { createGrpcClient } = await loadPackage('gRPC', '@grpc/grpc-js', import('#grpc-client'))
  const addresses = callee.isFound && (await callee.dialer.resolve(new URL(originOf(url) ?? url).hostname))
  const given: GrpcClientOptions = {
    authority: url,
    dialect,
    facts: factsFor(options),
    metadata: async () => ({ ...headers, ...(await authorizer?.additionsFor(url))?.headers }),
    timeoutMs,
    maxMessageBytes,
    userAgent,
    ...(addresses && { addresses }),
    ...((certificate || callee.isSecure) && { tls: certificate ?? {} }),
    ...(onWire && { onWire: (await import('./wire-log.js')).logGrpc(onWire) }),
  }
  return createGrpcClient(given)
}

function factsFor({ fileBytes }: ConnectOptions): ClientFacts {
  return { newId: () => crypto.randomUUID(), fileBytes }
}

/** Opens an interface with the first call. */
function openOnUse(create: () => Promise<OpenService>): OpenService {
  let created: Promise<OpenService> | undefined
  const client = () => {
    created ??= create()
    return created
  }
  async function* follow(...call: Parameters<ReturnType<typeof toGeneric>['streaming']>) {
    yield* batchesOf(callStreaming((await client()).service, ...call))
  }
  return {
    service: fromGeneric({
      unary: async (...call) => await callUnary((await client()).service, ...call),
      streaming: (...call) => items(follow(...call)),
    }),
    close: () => {
      created?.then((opened) => opened.close()).catch(() => undefined) // it failed to open
    },
  }
}

/** Adds the tenant of the interface to every request (R-TEN-1). */
function withTenant(service: AgentService, tenant: string): AgentService {
  const { unary, streaming } = toGeneric(service)
  const addTenant = (request: unknown) => ({ tenant, ...(request as object) })
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, addTenant(request), context),
    streaming: (operation, request, context) => streaming(operation, addTenant(request), context),
  })
}

function mapErrors(service: AgentService, map: (error: unknown) => unknown): AgentService {
  const { unary, streaming } = toGeneric(service)
  async function* follow(stream: AsyncIterable<StreamItem>): AsyncGenerator<readonly StreamItem[], void, void> {
    try {
      yield* batchesOf(stream)
    } catch (error) {
      throw map(error)
    }
  }
  return fromGeneric({
    unary: (...call) => unary(...call).catch((error: unknown) => Promise.reject(map(error))),
    streaming: (...call) => items(follow(streaming(...call))),
  })
}

/** Says that credentials were sent. Errors of the authorizer itself, such as a missing token, stay as they are. */
function explainRefusal(error: unknown, authorizer: Authorizer | undefined): unknown {
  if (!(error instanceof A2AError) || error.code !== 'UNAUTHENTICATED' || authorizer?.isOwn(error)) return error
  const { code, message, details } = error
  return new A2AError(code, `The agent refused the credentials that were sent: ${message}`, {
    ...details,
    cause: error,
  })
}

/** Whether a header carries a credential: a standard header, or one that a scheme of the card names. */
function isCredentialHeader(name: string, { securitySchemes = {} }: AgentCard): boolean {
  const lower = name.toLowerCase()
  if (lower === 'authorization' || lower === 'cookie') return true
  return Object.values(securitySchemes).some(
    (scheme) => 'apiKeySecurityScheme' in scheme && scheme.apiKeySecurityScheme.name.toLowerCase() === lower,
  )
}

/**
 * Returns a function that adds headers and credentials to requests for a protected card, only at the origin that the user
 * named. The schemes of the card are not known yet, so credentials are sent the default way. Returns undefined if there is
 * nothing to add.
 */
export async function authorizeCard(
  origin: string,
  options: ConnectOptions,
): Promise<((send: HttpSender) => HttpSender) | undefined> {
  const { credentials, headers = {} } = options
  const canAdd =
    credentials !== undefined && sourcesIn(credentials).some(({ defaultScheme }) => defaultScheme !== undefined)
  if (!canAdd && Object.keys(headers).length === 0) return undefined
  const trusted = [origin]
  const { createAuthorizer, withCredentials } = await loadAuthorizer()
  const authorizer = createAuthorizer(cardWithoutSchemes, canAdd ? credentials : undefined, {
    origins: trusted,
    sender: (namedOrigins) => createSender({ ...dialerOptions(options), namedOrigins }),
  })
  return (send) => withCredentials(withHeaders(send, headers, trusted), authorizer)
}

const cardWithoutSchemes = { name: '', securitySchemes: {} } as Partial<AgentCard> as AgentCard // no other field is read

type Headers = NonNullable<ConnectOptions['headers']>

/** Adds the user's headers to requests to trusted origins. The wire log redacts them. */
function withHeaders(send: HttpSender, headers: Headers, trusted: readonly string[]): HttpSender {
  return (request: GuardedRequest) => {
    const added = isTrusted(request.url, trusted) ? headers : {}
    const sent: GuardedRequest = {
      ...request,
      headers: { ...request.headers, ...added },
      secrets: [...(request.secrets ?? []), ...Object.values(added)],
    }
    return send(sent)
  }
}

/** Options of dialers for all addresses. The client certificate is for the agent alone. */
export function dialerOptions({ fetch, allowPrivate }: ConnectOptions): Omit<ClientDialerOptions, 'namedOrigins'> {
  return { ...(fetch && { fetch }), ...(allowPrivate !== undefined && { allowPrivate }) }
}
