/** HTTP+JSON: routes, query parameters, plain JSON results, streams as server-sent events (R-REST). */
import type { Dialect, RestForm } from '../../dialects/dialect.js'
import { dialectByVersion, negotiate } from '../../dialects/negotiate.js'
import { createRouter, isAction, type Match } from '../../dialects/rest-route.js'
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { CallTracker } from '../call-record.js'
import { answerCall, type Envelope, encodingFailure, type HttpCall } from '../http-server.js'
import { assertJson, parseJson, type RequestLimits, readBody } from '../read-json.js'
import { type BindingHandler, type IncomingCall, readVersion } from '../transport.js'

/** A request whose method and path match a route of at least one dialect. */
export interface RestCall {
  answer(incoming: IncomingCall): Promise<Response>
  /** Encodes the error of a refused call. */
  refuse(error: A2AError): Response
}

export interface RestServer {
  /** Finds the route of a path below the agent's; absent if no dialect has it. */
  find(request: Request, path: string): RestCall | undefined
  /** Encodes the error of a request that matches no route. */
  refuse(request: Request, path: string, error: A2AError): Response
}

/** Serves dialects that have a form for HTTP+JSON. */
export function createRestServer(endpoint: BindingHandler): RestServer {
  const routers = endpoint.dialects.map((dialect) => ({ dialect, route: createRouter(formOf(dialect).routes) }))
  return {
    find(request, path) {
      const found: [Dialect, Match][] = []
      for (const { dialect, route } of routers) {
        const match = route(request.method, path)
        if (match) found.push([dialect, match])
      }
      if (found.length === 0) return undefined
      // A path that is an action in one dialect is not an id in another (R-REST-1).
      const actions = found.filter(([, { route }]) => isAction(route))
      const matches = new Map(actions.length > 0 ? actions : found)
      return {
        answer: (incoming) => answer(endpoint, request, incoming, matches),
        refuse: (error) => errorAnswer(endpoint, error, likelyDialect(matches, request), request),
      }
    },
    refuse(request, path, error) {
      const methods = new Map<Dialect, readonly string[]>()
      for (const { dialect, route } of routers) {
        const taken = routeMethods.filter((method) => route(method, path))
        if (taken.length > 0) methods.set(dialect, taken)
      }
      const version = readVersion(request.headers, request.url)
      if (methods.size === 0) return errorAnswer(endpoint, error, dialectByVersion(endpoint.dialects, version), request)
      const dialect = likelyDialect(methods, request)
      const answer = errorAnswer(endpoint, error, dialect, request)
      if (error.code !== 'METHOD_NOT_FOUND' || !formOf(dialect).refusesOtherMethods) return answer
      answer.headers.set('allow', methods.get(dialect)?.join(', ') ?? '')
      return new Response(answer.body, { status: 405, headers: answer.headers })
    },
  }
}

const routeMethods = ['GET', 'POST', 'DELETE'] as const

async function answer(
  endpoint: BindingHandler,
  request: Request,
  incoming: IncomingCall,
  matches: ReadonlyMap<Dialect, Match>,
): Promise<Response> {
  let dialect = likelyDialect(matches, request)
  let match: Match | undefined
  const watch = endpoint.observe && new CallTracker(endpoint.observe, { ...incoming, binding: 'HTTP+JSON' })
  try {
    const body = request.method === 'POST' ? await readJson(request, incoming, endpoint.limits) : undefined
    const version = readVersion(request.headers, request.url)
    const { assumeV1, dialects } = endpoint
    const [best] = negotiate(dialects, { version, isServedIn: (each) => matches.has(each), assumeV1 })
    dialect = best ?? dialect
    match = matches.get(dialect)
    if (!match)
      throw new A2AError(
        'METHOD_NOT_FOUND',
        `Version ${dialect.versions[0]} has no such path, see the header A2A-Version`,
      )
    const form = formOf(dialect)
    const codec = match.route.codec ?? form.operations[match.route.operation]
    if (!codec) throw new A2AError('METHOD_NOT_FOUND', 'This operation is not offered here')
    const params = { ...(body ?? queryParams(request.url, codec.booleanParameters ?? [])), ...match.pathParams }
    const operation = codec.instead?.(params) ?? match.route.operation
    const call: HttpCall = {
      binding: 'HTTP+JSON',
      dialect,
      operation,
      codec: operation === match.route.operation ? codec : (form.operations[operation] ?? codec),
      params,
      headers: request.headers,
      watch,
      createStreamEncoder: (facts) => form.createStreamEncoder({ operation, params, newId: endpoint.newId, facts }),
    }
    return await answerCall(endpoint, incoming, call, envelopeOf(form, request, endpoint))
  } catch (caught) {
    const error = A2AError.from(caught)
    endpoint.onError(error)
    watch?.ended(error)
    return errorAnswer(endpoint, error, dialect, request, match)
  }
}

/** The dialect for errors before negotiation: the requested one among those that have the path. */
function likelyDialect(matches: ReadonlyMap<Dialect, unknown>, request: Request): Dialect {
  const candidates = [...matches.keys()]
  const version = readVersion(request.headers, request.url)
  return version?.trim() ? dialectByVersion(candidates, version) : (candidates.at(-1) as Dialect) // there is one match at least
}

function envelopeOf(form: RestForm, request: Request, { vary }: BindingHandler): Envelope {
  return {
    // Tasks belong to their caller: no cache may store them.
    headers: {
      'content-type': answerType(form, request),
      'cache-control': 'no-store',
      vary,
    },
    result: (json) => json,
    error: (error) => JSON.stringify(form.encodeError(error).body),
  }
}

/** If the dialect fails to encode the error, the caller gets an internal error in the newest dialect. */
function errorAnswer(
  endpoint: BindingHandler,
  error: A2AError,
  dialect: Dialect,
  request: Request,
  match?: Match,
): Response {
  try {
    return encodeAnswer(error, dialect, request, match)
  } catch (caught) {
    const { body } = formOf(endpoint.newestDialect).encodeError(encodingFailure(endpoint, caught))
    return Response.json(body, { status: 500, headers: { 'cache-control': 'no-store' } })
  }
}

function encodeAnswer(error: A2AError, dialect: Dialect, request: Request, match?: Match): Response {
  const form = formOf(dialect)
  const { status, body } = form.encodeError(error)
  const { retryAfterSeconds } = error.details
  const headers: Record<string, string> = { 'content-type': answerType(form, request), 'cache-control': 'no-store' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  return new Response(JSON.stringify(body), { status: match?.route.httpStatus?.(error) ?? status, headers })
}

/** An empty body is an empty request (R-CANCEL-6, R-REST-5), and so is `null` (R3-PB-3). */
async function readJson(
  request: Request,
  incoming: IncomingCall,
  limits: RequestLimits,
): Promise<Record<string, unknown>> {
  const body = (incoming.body === undefined ? await parseBody(request, limits) : incoming.body) ?? {}
  if (isObject(body)) return body
  throw new A2AError('INVALID_PARAMS', 'The request body must be an object')
}

async function parseBody(request: Request, limits: RequestLimits): Promise<unknown> {
  assertJson(request)
  const bytes = await readBody(request, limits.bodyBytes)
  return bytes.byteLength === 0 ? undefined : parseJson(bytes, limits)
}

/** The dialect's own media type, if the caller names it (R-REST-3). */
function answerType({ mediaType }: RestForm, { headers }: Request): string {
  if (mediaType === undefined) return 'application/json'
  const named = `${headers.get('content-type') ?? ''},${headers.get('accept') ?? ''}`
  return named.includes(mediaType) ? mediaType : 'application/json'
}

/** Query parameters are text. Decoders parse numbers; flags are converted here (R-REST-2). */
function queryParams(url: string, booleans: readonly string[]): Record<string, unknown> {
  const params: [string, unknown][] = []
  for (const [name, value] of new URL(url).searchParams) {
    const isFlag = booleans.includes(name) && (value === 'true' || value === 'false')
    params.push([name, isFlag ? value === 'true' : value])
  }
  return Object.fromEntries(params)
}

function formOf({ rest }: Dialect): RestForm {
  return rest as RestForm // the endpoint's dialects all have one
}
