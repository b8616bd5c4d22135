/** One interface of an agent as a service: the transport that its binding asks for. */
import type { ClientDialect, ClientFacts } from '../dialects/client-dialect.js'
import type { ClientDialects } from '../dialects/clients.js'
import type { AgentCard } from '../model/agent-card.js'
import { batchesOf, items } from '../model/batches.js'
import { A2AError } from '../model/errors.js'
import { callStreaming, callUnary, fromGeneric, toGeneric } from '../model/generic-service.js'
import { loadPackage } from '../model/load-package.js'
import type { AgentService, StreamItem } from '../model/service.js'
import { userAgent } from '../model/user-agent.js'
import { isNode } from '../net/runtime.js'
import type { GrpcClient, GrpcClientOptions } from '../transports/grpc/client.js'
import type { HttpSender } from '../transports/http-sender.js'
import { createJsonRpcClient } from '../transports/jsonrpc/client.js'
import { createRestClient } from '../transports/rest/client.js'
import type { Choice } from './agent-client.js'
import type { ClientDialer, ClientDialerOptions } from './client-dialer.js'
import type { ConnectOptions } from './connect-options.js'
import type { Authorizer } from './credentials/authorizer.js'
import { certificateOf, createAuthorizer, listOf, withCredentials } from './credentials/index.js'
import { createSender, type GuardedRequest } from './guarded-fetch.js'
import { originOf } from './trusted-origins.js'
import { fromGrpc, fromHttp } from './wire-log.js'

export interface InterfaceParts {
  readonly dialect: ClientDialect
  readonly send: HttpSender
  readonly facts: ClientFacts
  /** Rewrites an error of a call. Absent if no credentials are sent. */
  readonly explain?: (error: unknown) => unknown
  /** What gRPC needs in place of a sender. */
  readonly grpc: Pick<GrpcClientOptions, 'metadata' | 'onWire' | 'timeoutMs' | 'tls'> & {
    /** Checks a host and answers the addresses to dial. Default: gRPC looks the host up. */
    readonly resolve?: (host: string) => Promise<readonly string[]>
  }
}

export interface OpenInterface {
  readonly service: AgentService
  close(): void
}

/** gRPC needs Node: bundles for browsers do not even contain it. */
export const hasGrpc: boolean = isNode()

const largestMessage = 64 * 1024 * 1024

export function openInterface(choice: Choice, parts: InterfaceParts): OpenInterface {
  const { service, close } = open(choice, parts)
  const explained = parts.explain ? explaining(service, parts.explain) : service
  return { service: choice.tenant === undefined ? explained : withTenant(explained, choice.tenant), close }
}

function explaining(service: AgentService, explain: (error: unknown) => unknown): AgentService {
  const { unary, streaming } = toGeneric(service)
  async function* explained(stream: AsyncIterable<StreamItem>): AsyncGenerator<readonly StreamItem[], void, void> {
    try {
      yield* batchesOf(stream)
    } catch (error) {
      throw explain(error)
    }
  }
  return fromGeneric({
    unary: (operation, request, context) =>
      unary(operation, request, context).catch((error: unknown) => Promise.reject(explain(error))),
    streaming: (operation, request, context) => items(explained(streaming(operation, request, context))),
  })
}

/** Clients echo the tenant that an interface names (R-TEN-1). */
function withTenant(service: AgentService, tenant: string): AgentService {
  const { unary, streaming } = toGeneric(service)
  const named = (request: unknown) => ({ tenant, ...(request as object) })
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, named(request), context),
    streaming: (operation, request, context) => streaming(operation, named(request), context),
  })
}

function open({ binding, url }: Choice, { dialect, send, facts, grpc }: InterfaceParts): OpenInterface {
  const options = { url, dialect, send, facts }
  if (binding === 'JSONRPC') return { service: createJsonRpcClient(options), close: () => undefined }
  if (binding === 'HTTP+JSON') return { service: createRestClient(options), close: () => undefined }
  return lazily(async () => {
    const { createGrpcClient } = await loadPackage('gRPC', '@grpc/grpc-js', import('#grpc-client'))
    const { resolve, ...rest } = grpc
    const addresses = await resolve?.(new URL(originOf(url) ?? url).hostname)
    return createGrpcClient({
      ...rest,
      ...(addresses && { addresses }),
      authority: url,
      dialect,
      facts,
      maxMessageBytes: largestMessage,
      userAgent,
    })
  })
}

async function* opened(
  open: () => Promise<AsyncIterable<StreamItem>>,
): AsyncGenerator<readonly StreamItem[], void, void> {
  yield* batchesOf(await open())
}

/** A client that is made with its first call. */
function lazily(make: () => Promise<GrpcClient>): OpenInterface {
  let made: Promise<GrpcClient> | undefined
  const client = () => {
    made ??= make()
    return made
  }
  return {
    service: fromGeneric({
      unary: async (operation, request, context) =>
        await callUnary((await client()).service, operation, request, context),
      streaming: (operation, request, context) =>
        items(opened(async () => callStreaming((await client()).service, operation, request, context))),
    }),
    close: () => {
      made?.then((opened) => opened.close()).catch(() => undefined) // what was never opened needs no closing
    },
  }
}

/** Options of `connect`, and the handler if the agent is in this process. */
export type OpenOptions = ConnectOptions & Pick<ClientDialerOptions, 'handle'>

export interface Callee {
  readonly card: AgentCard
  /** The way to its addresses. */
  readonly reach: ClientDialer
  /** Origins that may get credentials: what the user named, and what the user allowed. */
  readonly trusted: readonly string[]
  /** The card came over https: what it says of gRPC, which names no scheme, is behind TLS too. */
  readonly isSecure: boolean
  /** The card was found in a registry: gRPC dials only addresses that the guard has checked. */
  readonly isFound?: boolean
}

const longest = 0x7fff_ffff

/** Whether an interface may have what the user gave along, headers and credentials alike. */
export function isTrusted(url: string, { trusted }: Pick<Callee, 'trusted'>): boolean {
  return trusted.some((origin) => origin === '*' || originOf(origin) === originOf(url))
}

/** The parts that an interface is opened with. */
export function createCaller(
  callee: Callee,
  options: ConnectOptions & { readonly timeoutMs: number },
  dialects: ClientDialects,
): (choice: Choice) => InterfaceParts {
  const { credentials, headers = {}, onWire, timeoutMs, fileBytes } = options
  const certificate = credentials && certificateOf(listOf(credentials))
  const authorizer =
    credentials &&
    createAuthorizer(callee.card, credentials, {
      origins: callee.trusted,
      sender: (namedOrigins) => createSender({ ...networkOptions(options), namedOrigins }),
    })
  return ({ dialect, binding, url }) => {
    const given = isTrusted(url, callee) ? headers : {}
    const plain = createSender({
      reach: callee.reach,
      headersTimeoutMs: timeoutMs === 0 ? longest : timeoutMs,
      ...(timeoutMs > 0 && { bodyTimeoutMs: timeoutMs }),
      ...(onWire && { onWire: fromHttp(onWire, binding) }),
    })
    const headed = withHeaders(plain, headers, callee)
    const sendsHeader = Object.keys(given).some((name) => isCredentialHeader(name, callee.card))
    const explain = (error: unknown) =>
      sendsHeader || authorizer?.sendsTo(url) ? explainRefusal(error, authorizer) : error
    return {
      ...((sendsHeader || authorizer) && { explain }),
      dialect: dialects.get(dialect) as ClientDialect, // choices are made among them
      send: authorizer ? withCredentials(headed, authorizer) : headed,
      facts: { newId: () => crypto.randomUUID(), fileBytes },
      grpc: {
        metadata: async () => ({ ...given, ...(await authorizer?.additionsFor(url))?.headers }),
        timeoutMs,
        ...(callee.isFound && { resolve: (host: string) => callee.reach.resolve(host) }),
        ...((certificate || callee.isSecure) && { tls: certificate ?? {} }),
        ...(onWire && { onWire: fromGrpc(onWire) }),
      },
    }
  }
}

/** Names the credentials in an agent's refusal. Errors of the authorizer itself, such as one without a token, stay. */
function explainRefusal(error: unknown, authorizer: Authorizer | undefined): unknown {
  if (!(error instanceof A2AError) || error.code !== 'UNAUTHENTICATED' || authorizer?.isOwn(error)) return error
  const { code, message, details } = error
  return new A2AError(code, `The agent refused the credentials that were sent: ${message}`, {
    ...details,
    cause: error,
  })
}

/** Whether a header that the user gave is a credential: a standard one, or one that a scheme of the card names. */
function isCredentialHeader(name: string, { securitySchemes = {} }: AgentCard): boolean {
  const lower = name.toLowerCase()
  if (lower === 'authorization' || lower === 'cookie') return true
  return Object.values(securitySchemes).some(
    (scheme) => 'apiKeySecurityScheme' in scheme && scheme.apiKeySecurityScheme.name.toLowerCase() === lower,
  )
}

/**
 * Adds headers and credentials to requests for a protected card, at the origin that the user named and at no other. The
 * card is not known yet, so credentials go where they go by default. Absent if there is nothing to add.
 */
export function authorizeCard(origin: string, options: ConnectOptions): ((send: HttpSender) => HttpSender) | undefined {
  const { credentials, headers = {} } = options
  const canAdd = credentials !== undefined && listOf(credentials).some(({ usual }) => usual !== undefined)
  if (!canAdd && Object.keys(headers).length === 0) return undefined
  const trusted = [origin]
  const authorizer = createAuthorizer(cardWithoutSchemes, canAdd ? credentials : undefined, {
    origins: trusted,
    sender: (namedOrigins) => createSender({ ...networkOptions(options), namedOrigins }),
  })
  return (send) => withCredentials(withHeaders(send, headers, { trusted }), authorizer)
}

const cardWithoutSchemes = { name: '', securitySchemes: {} } as Partial<AgentCard> as AgentCard // nothing else is read

/** Headers that the user gave are taken for secrets. */
function withHeaders(
  send: HttpSender,
  headers: NonNullable<ConnectOptions['headers']>,
  callee: Pick<Callee, 'trusted'>,
): HttpSender {
  return (request: GuardedRequest) => {
    const given = isTrusted(request.url, callee) ? headers : {}
    const sent: GuardedRequest = {
      ...request,
      headers: { ...request.headers, ...given },
      // Credentials have named theirs before.
      secrets: [...(request.secrets ?? []), ...Object.values(given)],
    }
    return send(sent)
  }
}

/** What a connection says of the way to addresses, whoever's they are. Certificates are for the agent alone. */
export function reachOptions({ handle, ...options }: OpenOptions): Omit<ClientDialerOptions, 'namedOrigins'> {
  return { ...networkOptions(options), ...(handle && { handle }) }
}

/** For requests that never go to the agent itself, such as those for tokens. */
function networkOptions({ fetch, allowPrivate }: ConnectOptions): Omit<ClientDialerOptions, 'namedOrigins'> {
  return { ...(fetch && { fetch }), ...(allowPrivate !== undefined && { allowPrivate }) }
}
