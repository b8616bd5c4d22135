/** Cross-origin requests: lets pages of the configured origins call the agents and read the responses. */
import { type AnswerHeaders, type Exchange, type HttpAnswer, withHeaders } from '../transports/exchange.js'
import { parameterHeaders } from '../transports/transport.js'
import type { AgentEndpoint } from './agent-endpoint.js'

interface CorsOptions {
  /** Origins that browsers may call from. */
  readonly origins: readonly string[]
  /** Headers that carry credentials. */
  readonly credentialHeaders: readonly string[]
}

/**
 * Makes an endpoint answer preflight requests, and adds the headers of CORS to its other answers. With `hasOwnHeaders`,
 * pages may send all headers and read those of the answer: other protocols have headers of their own.
 */
export type AddCors = (endpoint: AgentEndpoint, options?: { readonly hasOwnHeaders: boolean }) => AgentEndpoint

/** Time for which browsers keep the answer to a preflight. Chromium keeps none for longer. */
const maxAgeSeconds = 7200

export function createCors({ origins, credentialHeaders }: CorsOptions): AddCors {
  if (origins.length === 0) return (endpoint) => endpoint
  const allowed = new Set(origins)
  const parameters = Object.values(parameterHeaders)
  const exposed = [...parameters, 'etag', 'retry-after', 'www-authenticate'].join(',')
  const preflight: AnswerHeaders = {
    'access-control-allow-methods': 'GET,HEAD,PUT,POST,DELETE,PATCH,QUERY',
    'access-control-allow-headers': ['content-type', ...credentialHeaders, ...parameters].join(','),
    'access-control-max-age': String(maxAgeSeconds),
    vary: 'Origin, Access-Control-Request-Headers',
  }
  const originFor = ({ headers }: Exchange): AnswerHeaders => {
    const origin = headers.get('origin')
    return origin !== null && allowed.has(origin) ? { 'access-control-allow-origin': origin } : {}
  }
  const addTo = (answered: HttpAnswer, exchange: Exchange, hasOwnHeaders: boolean): HttpAnswer => {
    const { vary, 'access-control-expose-headers': listed } = answered.headers
    const own = listed ?? (hasOwnHeaders ? Object.keys(answered.headers).join() : undefined)
    return withHeaders(answered, {
      ...originFor(exchange),
      'access-control-expose-headers': own ? `${own},${exposed}` : exposed,
      vary: vary ? `${vary}, Origin` : 'Origin',
    })
  }
  const answerPreflight = (exchange: Exchange, hasOwnHeaders: boolean): HttpAnswer => {
    const wanted = hasOwnHeaders ? exchange.headers.get('access-control-request-headers') : null
    const all = wanted === null ? preflight : { ...preflight, 'access-control-allow-headers': wanted }
    return { status: 204, headers: { ...originFor(exchange), ...all } }
  }
  return (endpoint, { hasOwnHeaders } = { hasOwnHeaders: false }) =>
    (exchange, path, caller) => {
      if (isPreflight(exchange)) return answerPreflight(exchange, hasOwnHeaders)
      const answered = endpoint(exchange, path, caller)
      return answered instanceof Promise
        ? answered.then((each) => addTo(each, exchange, hasOwnHeaders))
        : addTo(answered, exchange, hasOwnHeaders)
    }
}

/** Other requests with `OPTIONS` do not come from the CORS protocol. */
function isPreflight({ method, headers }: Exchange): boolean {
  return method === 'OPTIONS' && headers.get('origin') !== null && headers.get('access-control-request-method') !== null
}
