/** Cross-origin requests: lets pages of the configured origins call the agents and read the responses. */
import {
  type Answer,
  type AnswerExchange,
  type AnswerHeaders,
  type Exchange,
  withHeaders,
} from '../transports/exchange.js'
import { parameterHeaders } from '../transports/transport.js'

interface CorsOptions {
  /** Origins that browsers may call from. */
  readonly origins: readonly string[]
  /** Headers that carry credentials. */
  readonly credentialHeaders: readonly string[]
}

/** Answers preflight requests and adds the headers of CORS to all answers. */
export function withCors(answer: AnswerExchange, { origins, credentialHeaders }: CorsOptions): AnswerExchange {
  if (origins.length === 0) return answer
  const allowed = new Set(origins)
  const parameters = Object.values(parameterHeaders)
  const exposed = [...parameters, 'etag', 'retry-after', 'www-authenticate'].join(',')
  const preflight: AnswerHeaders = {
    'access-control-allow-methods': 'GET,HEAD,PUT,POST,DELETE,PATCH,QUERY',
    'access-control-allow-headers': ['content-type', ...credentialHeaders, ...parameters].join(','),
  }
  const headersFor = ({ headers }: Exchange): AnswerHeaders => {
    const origin = headers.get('origin')
    const isAllowed = origin !== null && allowed.has(origin)
    return { ...(isAllowed && { 'access-control-allow-origin': origin }), 'access-control-expose-headers': exposed }
  }
  const addTo = (answered: Answer, exchange: Exchange): Answer => {
    const { vary } = answered.headers
    return withHeaders(answered, { ...headersFor(exchange), vary: vary ? `${vary}, Origin` : 'Origin' })
  }
  return (exchange) => {
    if (exchange.method === 'OPTIONS') {
      const vary = 'Origin, Access-Control-Request-Headers'
      return { status: 204, headers: { ...headersFor(exchange), ...preflight, vary } }
    }
    const answered = answer(exchange)
    return answered instanceof Promise ? answered.then((each) => addTo(each, exchange)) : addTo(answered, exchange)
  }
}
