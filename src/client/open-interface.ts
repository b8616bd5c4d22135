/** One interface of an agent as a service: the transport that its binding asks for. */
import type { ClientFacts } from '../dialects/client-dialect.js'
import { clientDialects } from '../dialects/clients.js'
import { batchesOf, items } from '../model/batches.js'
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
import { originOf } from './choose-interface-address.js'

export interface InterfaceParts {
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

function open({ dialect, binding, url }: Choice, { send, facts, grpc }: InterfaceParts): OpenInterface {
  const options = { url, dialect: clientDialects[dialect], send, facts }
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
      dialect: clientDialects[dialect],
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
