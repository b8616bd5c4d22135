/** The client of HTTP+JSON. */
import type { ClientDialect, RestClientForm, RestRequestCodec } from '../../dialects/client-dialect.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { AgentService } from '../../model/service.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { unsupported } from '../client-response.js'
import { createHttpClient, type HttpClientOptions, type OutgoingCall } from '../http-client.js'

export function createRestClient(options: HttpClientOptions): AgentService {
  const { dialect, facts } = options
  const form = dialect.rest
  if (!form) throw new TypeError(`${dialect.name} is not available over HTTP+JSON`)
  const base = withoutTrailingSlashes(options.url)
  return createHttpClient(options, {
    request(operation, request, naming): OutgoingCall {
      const codec = codecOf(form, dialect, operation)
      const { method, path, query, body } = codec.encode(request, naming)
      const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ''
      return {
        http: { method, url: `${base}${path}${search}`, ...(body !== undefined && { body: JSON.stringify(body) }) },
        result(status, answer) {
          if (status < 200 || status > 299) throw form.decodeError(status, answer)
          return answer
        },
        decode: (answer) => codec.decode(answer, request, facts),
        createStreamDecoder: () => form.createStreamDecoder({ operation, request, sent: body, facts }),
        open(data) {
          // Within a stream there is no status; the error body is the same.
          if (isErrorBody(data)) throw form.decodeError(statusIn(data), data)
          return data
        },
      }
    },
  })
}

function codecOf(form: RestClientForm, dialect: ClientDialect, operation: Operation): RestRequestCodec {
  const codec = form.operations[operation]
  if (!codec) throw unsupported(operation, dialect)
  return codec
}

/** `{"error":{…}}`, or bare as 0.3 has it; no element of a stream has a `message` that is text. */
function isErrorBody(data: unknown): data is Record<string, unknown> {
  return isObject(data) && (isObject(data.error) || (typeof data.code === 'number' && typeof data.message === 'string'))
}

function statusIn(body: Record<string, unknown>): number {
  const { code } = isObject(body.error) ? body.error : body
  return typeof code === 'number' && code >= 400 && code < 600 ? code : 500
}
