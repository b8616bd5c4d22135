/** What goes out with every call of one connection: who calls, within which limits, seen by whom. */
import type { AgentCard } from '../model/agent-card.js'
import type { HttpSender } from '../transports/http-sender.js'
import type { Choice } from './agent-client.js'
import { isAmong } from './choose-interface-address.js'
import type { ConnectOptions } from './connect-options.js'
import { type Authorizer, certificateOf, createAuthorizer, listOf, withCredentials } from './credentials/index.js'
import { createSender, type GuardedRequest } from './guarded-fetch.js'
import type { InterfaceParts } from './open-interface.js'
import type { Reach, ReachOptions } from './reach.js'
import { fromGrpc, fromHttp } from './wire-entries.js'

export interface Callee {
  readonly card: AgentCard
  /** The way to its addresses. */
  readonly reach: Reach
  /** Origins that may get credentials: what the user named, and what the user allowed. */
  readonly trusted: readonly string[]
  /** The card came over https: what it says of gRPC, which names no scheme, is behind TLS too. */
  readonly isSecure: boolean
}

const longest = 0x7fff_ffff

/** Whether an interface may have what the user gave along, headers and credentials alike. */
export function isTrusted(url: string, { trusted }: Pick<Callee, 'trusted'>): boolean {
  return isAmong(url, trusted)
}

/** The parts that an interface is opened with. */
export function createCaller(
  callee: Callee,
  options: ConnectOptions & { readonly timeoutMs: number },
): (choice: Choice) => InterfaceParts {
  const { credentials, headers = {}, onWire, timeoutMs } = options
  const certificate = credentials && certificateOf(listOf(credentials))
  const authorizer = authorizerFor(callee.card, callee.trusted, options)
  return ({ binding, url }) => {
    const given = isTrusted(url, callee) ? headers : {}
    const plain = createSender({
      reach: callee.reach,
      headersTimeoutMs: timeoutMs === 0 ? longest : timeoutMs,
      ...(timeoutMs > 0 && { bodyTimeoutMs: timeoutMs }),
      ...(onWire && { onWire: fromHttp(onWire, binding) }),
    })
    const withHeaders = adding(given, plain)
    return {
      send: authorizer ? withCredentials(withHeaders, authorizer) : withHeaders,
      facts: { newId: () => crypto.randomUUID() },
      grpc: {
        metadata: async () => ({ ...given, ...(await authorizer?.additionsFor(url))?.headers }),
        timeoutMs,
        ...((certificate || callee.isSecure) && { tls: certificate ?? {} }),
        ...(onWire && { onWire: fromGrpc(onWire) }),
      },
    }
  }
}

/** How to ask for a card that is not for everybody; absent when the user gave nothing to show. */
export function createCardCaller(
  card: AgentCard,
  origin: string,
  options: ConnectOptions,
): ((send: HttpSender) => HttpSender) | undefined {
  const { headers = {}, credentials } = options
  if (credentials === undefined && Object.keys(headers).length === 0) return undefined
  const authorizer = authorizerFor(card, [origin], options)
  return (send) => {
    const withHeaders = adding(headers, send)
    return authorizer ? withCredentials(withHeaders, authorizer) : withHeaders
  }
}

function authorizerFor(card: AgentCard, origins: readonly string[], options: ConnectOptions): Authorizer | undefined {
  const { credentials } = options
  return (
    credentials &&
    createAuthorizer(card, credentials, {
      origins,
      sender: (named) => createSender({ ...reachOptions(options), named }),
    })
  )
}

function adding(given: Readonly<Record<string, string>>, send: HttpSender): HttpSender {
  return (request: GuardedRequest) => {
    const guarded: GuardedRequest = {
      ...request,
      headers: { ...request.headers, ...given },
      secrets: [...(request.secrets ?? []), ...Object.values(given)],
    }
    return send(guarded)
  }
}

/** What a connection says of the way to addresses, whoever's they are. Certificates are for the agent alone. */
export function reachOptions({ fetch, allowPrivate }: ConnectOptions): Omit<ReachOptions, 'named'> {
  return { ...(fetch && { fetch }), ...(allowPrivate !== undefined && { allowPrivate }) }
}
