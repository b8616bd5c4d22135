/** HTTP+JSON: routes, query parameters, plain JSON results, streams as server-sent events (R-REST). */
import type { CallFacts, Dialect, OperationCodec, RestForm, StreamEncoder } from '../../dialects/dialect.js'
import { dialectByVersion, negotiate } from '../../dialects/negotiate.js'
import { createRouter, isAction, type Match } from '../../dialects/rest-route.js'
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { CallTracker } from '../call-record.js'
import { type AnswerHeaders, type Exchange, type HttpAnswer, withHeaders } from '../exchange.js'
import { answerCall, encodingFailure, type HttpCall, trackCall } from '../http-server.js'
import { assertJson, parseJson, type RequestLimits } from '../read-json.js'
import { type BindingHandler, type HeaderReader, type IncomingCall, readVersion } from '../transport.js'

/** The routes of a method and path, in at least one dialect. */
export interface RestTarget {
  readonly binding: 'HTTP+JSON'
  answer(exchange: Exchange, incoming: IncomingCall): Promise<HttpAnswer>
  /** Encodes the error of a refused call. */
  refuse(exchange: Exchange, error: A2AError): HttpAnswer
}

export interface RestServer {
  /** Finds the routes of a path below the agent's; undefined if no dialect has it. */
  find(method: string, path: string): RestTarget | undefined
  /** Encodes the error of a request that matches no route. */
  refuse(exchange: Exchange, path: string, error: A2AError): HttpAnswer
}

/** Serves dialects that have a form for HTTP+JSON. */
export function createRestServer(handler: BindingHandler): RestServer {
  const routers = handler.dialects.map((dialect) => ({ dialect, route: createRouter(formOf(dialect).routes) }))
  function matchesOf(method: string, path: string): Matches | undefined {
    const found: [Dialect, Match][] = []
    for (const { dialect, route } of routers) {
      const match = route(method, path)
      if (match) found.push([dialect, match])
    }
    if (found.length === 0) return undefined
    // A path that is an action in one dialect is not an id in another (R-REST-1).
    const actions = found.filter(([, { route }]) => isAction(route))
    return new Map(actions.length > 0 ? actions : found)
  }
  // Paths without parameters, such as those of sends, have one target for all calls.
  const fixed = new Map<string, RestTarget>()
  for (const { method, path } of handler.dialects.flatMap((dialect) => formOf(dialect).routes)) {
    const matches = path.includes('{') ? undefined : matchesOf(method, path)
    if (matches) fixed.set(`${method} ${path}`, new RouteTarget(handler, matches, new Map()))
  }
  return {
    find(method, path) {
      const kept = fixed.get(`${method} ${path}`)
      if (kept) return kept
      const matches = matchesOf(method, path)
      return matches && new RouteTarget(handler, matches)
    },
    refuse(exchange, path, error) {
      const methods = new Map<Dialect, readonly string[]>()
      for (const { dialect, route } of routers) {
        const taken = routeMethods.filter((method) => route(method, path))
        if (taken.length > 0) methods.set(dialect, taken)
      }
      const version = readVersion(exchange.headers, exchange.query)
      if (methods.size === 0) return errorAnswer(handler, error, dialectByVersion(handler.dialects, version), exchange)
      const dialect = likelyDialect(methods, exchange)
      const answered = errorAnswer(handler, error, dialect, exchange)
      if (error.code !== 'METHOD_NOT_FOUND' || !formOf(dialect).refusesOtherMethods) return answered
      return { ...withHeaders(answered, { allow: methods.get(dialect)?.join(', ') ?? '' }), status: 405 }
    },
  }
}

const routeMethods = ['GET', 'POST', 'DELETE'] as const

type Matches = ReadonlyMap<Dialect, Match>

class RouteTarget implements RestTarget {
  readonly binding = 'HTTP+JSON'
  readonly #handler: BindingHandler
  readonly #matches: Matches
  /** Negotiated dialects by version; absent if the target serves one call. */
  readonly #kept: Map<string | undefined, Dialect> | undefined

  constructor(handler: BindingHandler, matches: Matches, kept?: Map<string | undefined, Dialect>) {
    this.#handler = handler
    this.#matches = matches
    this.#kept = kept
  }

  async answer(exchange: Exchange, incoming: IncomingCall): Promise<HttpAnswer> {
    const handler = this.#handler
    let dialect: Dialect | undefined
    let match: Match | undefined
    const watch = trackCall(handler, incoming, 'HTTP+JSON')
    try {
      let body: object | undefined
      if (exchange.method === 'POST') {
        let parsed = incoming.body
        if (parsed === undefined) {
          assertJson(exchange.headers)
          parsed = parseBody(await exchange.readBody(handler.limits.bodyBytes), handler.limits)
        }
        body = asObject(parsed)
      }
      dialect = this.#negotiate(readVersion(exchange.headers, exchange.query))
      match = this.#matches.get(dialect)
      if (!match)
        throw new A2AError(
          'METHOD_NOT_FOUND',
          `Version ${dialect.versions[0]} has no such path, see the header A2A-Version`,
        )
      const form = formOf(dialect)
      const codec = match.route.codec ?? form.operations[match.route.operation]
      if (!codec) throw new A2AError('METHOD_NOT_FOUND', 'This operation is not offered here')
      const sent = body ?? queryParams(exchange.query, codec.booleanParameters ?? [])
      const params = match.pathParams ? { ...sent, ...match.pathParams } : sent
      const operation = codec.instead?.(params) ?? match.route.operation
      const used = operation === match.route.operation ? codec : (form.operations[operation] ?? codec)
      const call = new RestCall(handler, exchange, { dialect, form, operation, codec: used, params, watch })
      return await answerCall(handler, incoming, call)
    } catch (caught) {
      const error = A2AError.from(caught)
      handler.onError(error)
      watch?.ended(error)
      return errorAnswer(handler, error, dialect ?? likelyDialect(this.#matches, exchange), exchange, match)
    }
  }

  refuse(exchange: Exchange, error: A2AError): HttpAnswer {
    return errorAnswer(this.#handler, error, likelyDialect(this.#matches, exchange), exchange)
  }

  /** Dialects for versions that dialects have are kept: callers can name others, but they add nothing. */
  #negotiate(version: string | undefined): Dialect {
    const kept = this.#kept?.get(version)
    if (kept) return kept
    const { assumeV1, dialects } = this.#handler
    const isServedIn = (dialect: Dialect) => this.#matches.has(dialect)
    const [best] = negotiate(dialects, { version, isServedIn, assumeV1 }) as [Dialect] // it names at least one
    if (version === undefined || dialects.some(({ versions }) => versions.includes(version)))
      this.#kept?.set(version, best)
    return best
  }
}

/** The dialect for errors before negotiation: the requested one among those that have the path. */
function likelyDialect(matches: ReadonlyMap<Dialect, unknown>, { headers, query }: Exchange): Dialect {
  const candidates = [...matches.keys()]
  const version = readVersion(headers, query)
  return version?.trim() ? dialectByVersion(candidates, version) : (candidates.at(-1) as Dialect) // there is one match at least
}

type RestCallFacts = Pick<RestCall, 'dialect' | 'form' | 'operation' | 'codec' | 'params' | 'watch'>

class RestCall implements HttpCall {
  readonly binding = 'HTTP+JSON'
  readonly dialect: Dialect
  readonly form: RestForm
  readonly operation: Operation
  readonly codec: OperationCodec
  readonly params: unknown
  readonly watch: CallTracker | undefined
  readonly headers: HeaderReader
  readonly #handler: BindingHandler

  constructor(handler: BindingHandler, { headers }: Exchange, facts: RestCallFacts) {
    this.#handler = handler
    this.headers = headers
    this.dialect = facts.dialect
    this.form = facts.form
    this.operation = facts.operation
    this.codec = facts.codec
    this.params = facts.params
    this.watch = facts.watch
  }

  /** Tasks belong to their caller: no cache may store them. */
  get answerHeaders(): AnswerHeaders {
    const { vary } = this.#handler
    return { 'content-type': answerType(this.form, this.headers), 'cache-control': 'no-store', vary }
  }

  createStreamEncoder(facts: CallFacts): StreamEncoder {
    const { operation, params } = this
    return this.form.createStreamEncoder({ operation, params, newId: this.#handler.newId, facts })
  }

  wrapResult(json: string): string {
    return json
  }

  wrapError(error: A2AError): string {
    return JSON.stringify(this.form.encodeError(error).body)
  }
}

/** If the dialect fails to encode the error, the caller gets an internal error in the newest dialect. */
function errorAnswer(
  handler: BindingHandler,
  error: A2AError,
  dialect: Dialect,
  exchange: Exchange,
  match?: Match,
): HttpAnswer {
  try {
    return encodeAnswer(error, dialect, exchange, match)
  } catch (caught) {
    const { body } = formOf(handler.newestDialect).encodeError(encodingFailure(handler, caught))
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
    return { status: 500, headers, body: JSON.stringify(body) }
  }
}

function encodeAnswer(error: A2AError, dialect: Dialect, exchange: Exchange, match?: Match): HttpAnswer {
  const form = formOf(dialect)
  const { status, body } = form.encodeError(error)
  const { retryAfterSeconds } = error.details
  const headers: Record<string, string> = {
    'content-type': answerType(form, exchange.headers),
    'cache-control': 'no-store',
  }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  return { status: match?.route.httpStatus?.(error) ?? status, headers, body: JSON.stringify(body) }
}

function parseBody(bytes: Uint8Array, limits: RequestLimits): unknown {
  return bytes.byteLength === 0 ? undefined : parseJson(bytes, limits)
}

/** An empty body is an empty request (R-CANCEL-6, R-REST-5), and so is `null` (R3-PB-3). */
function asObject(parsed: unknown): Record<string, unknown> {
  const body = parsed ?? {}
  if (isObject(body)) return body
  throw new A2AError('INVALID_PARAMS', 'The request body must be an object')
}

/** The dialect's own media type, if the caller names it (R-REST-3). */
function answerType({ mediaType }: RestForm, headers: HeaderReader): string {
  if (mediaType === undefined) return 'application/json'
  const isNamed = headers.get('content-type')?.includes(mediaType) || headers.get('accept')?.includes(mediaType)
  return isNamed ? mediaType : 'application/json'
}

/** Query parameters are text. Decoders parse numbers; flags are converted here (R-REST-2). */
function queryParams(query: string, booleans: readonly string[]): Record<string, unknown> {
  const params: [string, unknown][] = []
  for (const [name, value] of new URLSearchParams(query)) {
    const isFlag = booleans.includes(name) && (value === 'true' || value === 'false')
    params.push([name, isFlag ? value === 'true' : value])
  }
  return Object.fromEntries(params)
}

function formOf({ rest }: Dialect): RestForm {
  return rest as RestForm // the handler's dialects all have one
}
