/** Other protocols in front of the agents of a port, such as the API of OpenAI or MCP. */
import type { AgentCard } from '../model/agent-card.js'
import type { Connection } from '../model/connection.js'
import type { A2AError } from '../model/errors.js'
import type { Log } from '../model/log.js'
import type { JsonValue } from '../model/part.js'
import type { AgentService, Caller } from '../model/service.js'
import type { Exchange, HttpAnswer } from '../transports/exchange.js'

/** A protocol beside A2A, on the agents' address. */
export interface Endpoint {
  /** The name in logs, metrics and the audit. */
  readonly name: string
  /** The paths that the endpoint answers, such as `/mcp`, each with everything below it. `/` matches that one page only. */
  readonly paths: readonly string[]
  /**
   * Answers a request. Undefined: the endpoint does not handle the request, and the agents are tried; it must not have
   * read the body. Errors are encoded by `refuse`: an `A2AError` as it is, others as INTERNAL_ERROR without their text.
   */
  answer(
    exchange: Exchange,
    visit: Visit,
  ): HttpAnswer | Response | undefined | Promise<HttpAnswer | Response | undefined>
  /**
   * Encodes an error in the format of the endpoint's protocol. `exchange` is the request that failed. The server adds
   * `www-authenticate`, `retry-after` and `cache-control`.
   */
  refuse(error: A2AError, exchange: Exchange): HttpAnswer
  /**
   * Accepts every caller and every web page; the endpoint checks access itself. Default false: the endpoint has the `auth`
   * and `cors` of the agents on this port.
   */
  readonly isPublic?: boolean
  /**
   * Publishes the metadata of an OAuth 2 protected resource (RFC 9728) for each path, and names them in challenges, if
   * `auth` has an OAuth 2 or OpenID Connect scheme. Default false.
   */
  readonly isOAuthResource?: boolean
  /** Called when a port of the server closes, before the server waits for running turns. */
  close?(): void | Promise<void>
}

/** One request to an endpoint: its caller, the agents that it may call, and how to answer. */
export interface Visit {
  /** The authenticated caller; `anonymous` without `auth` and on public endpoints. */
  readonly caller: Caller
  /** The path below the base path of the server. */
  readonly path: string
  /** The agents of this port, by name. */
  readonly agents: ReadonlyMap<string, VisitedAgent>
  /** The operations of `agents`, by name. Routes get these; endpoints use `agents`. */
  readonly services: ReadonlyMap<string, AgentService>
  /** The connection, for endpoints that authenticate callers themselves; absent if unknown. */
  readonly connection?: Connection
  /**
   * Reads the body as JSON, once, bounded by the limits of the port: bytes, number of values, depth. Throws `A2AError`,
   * which `refuse` encodes.
   */
  readJson(): Promise<JsonValue>
  /** The request for code that takes a `Request`. Reading a body that exceeds the limit of bytes fails. */
  toRequest(): Request
  /**
   * Answers with server-sent events. An error before the first element is thrown, so that `refuse` encodes it with its
   * status; a later one is encoded by `encodeError`. Idle streams get comments, and a slow reader pauses `items`.
   */
  stream<Item>(events: EventStream<Item>): Promise<HttpAnswer>
  /**
   * Aborts when the caller disconnects before the answer is complete. Created on use. Pass it to streaming operations:
   * otherwise they are read until their next event.
   */
  readonly signal: AbortSignal
  /** Writes to the log of the server, for errors that the endpoint encodes itself. */
  readonly log: Log
}

/** An agent of the port, as endpoints see it. */
export interface VisitedAgent {
  readonly card: AgentCard
  /** The address of the agent, without a trailing slash. */
  readonly url: string
  /**
   * The operations, with the checks that calls over A2A get: skills, tenants and the engine's limits. Calls are made for a
   * caller: `service.getTask({ id }, { caller })`.
   */
  readonly service: AgentService
}

/** A stream of server-sent events, for `Visit.stream`. */
export interface EventStream<Item> {
  readonly items: AsyncIterable<Item>
  /**
   * Settles when the stream is certain to open (`onOpen` of a call). The response then begins before the first element,
   * which a resumed stream may wait for. Default: it begins with the first element.
   */
  readonly opened?: Promise<unknown>
  /** The frames of one element, framed: `data: …\n\n`. Empty: nothing is sent. */
  encode(item: Item): string
  /** Text after the last event. Default: none. */
  encodeEnd?(): string
  encodeError(error: A2AError): string
  readonly headers?: Readonly<Record<string, string>>
}
