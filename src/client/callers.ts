/** What goes out with every call of one connection: who calls, within which limits, seen by whom. */
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import type { HttpSender } from '../transports/http-sender.js'
import type { Choice } from './agent-client.js'
import { originOf } from './choose-interface-address.js'
import type { ConnectOptions } from './connect-options.js'
import type { Authorizer } from './credentials/authorizer.js'
import { certificateOf, createAuthorizer, listOf, withCredentials } from './credentials/index.js'
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
): (choice: Choice) => InterfaceParts {
  const { credentials, headers = {}, onWire, timeoutMs, fileBytes } = options
  const certificate = credentials && certificateOf(listOf(credentials))
  const authorizer =
    credentials &&
    createAuthorizer(callee.card, credentials, {
      origins: callee.trusted,
      sender: (named) => createSender({ ...reachOptions(options), named }),
    })
  return ({ binding, url }) => {
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
    sender: (named) => createSender({ ...reachOptions(options), named }),
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
export function reachOptions({ fetch, allowPrivate }: ConnectOptions): Omit<ReachOptions, 'named'> {
  return { ...(fetch && { fetch }), ...(allowPrivate !== undefined && { allowPrivate }) }
}
