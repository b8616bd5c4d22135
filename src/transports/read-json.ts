/** Reads request bodies as JSON, within limits of size, number of values and depth. */
import { A2AError, limitMetadata } from '../model/errors.js'
import { collectAtMost } from '../net/read-at-most.js'

/** Limits that are checked before a request is decoded. */
export interface RequestLimits {
  /** Bytes of a request. Default 10 MB. */
  readonly bodyBytes: number
  /** Values in a request, at any depth. Parsing megabytes of short values blocks the event loop. Default 50,000. */
  readonly jsonElements: number
  /** Nesting of arrays and objects. Default 128. */
  readonly jsonDepth: number
}

export const defaultRequestLimits: RequestLimits = {
  bodyBytes: 10 * 1024 * 1024,
  jsonElements: 50_000,
  jsonDepth: 128,
}

const decoder = new TextDecoder('utf-8', { fatal: true })
/** Shorter texts cannot exceed the limits by a harmful amount. */
const harmlessLength = 2048

/** The client closed or reset its connection before the request body was complete. */
export class BodyInterrupted extends A2AError {
  constructor(cause: unknown) {
    super('INVALID_REQUEST', 'The connection closed before the end of the request body', { cause })
  }
}

/**
 * Reads the body. Throws `PAYLOAD_TOO_LARGE` as soon as it exceeds `maxBytes`, `BodyInterrupted` if it ends early, and
 * `TypeError` if the application has read it already.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge(maxBytes)
  if (request.bodyUsed) throw readBefore()
  let bytes: Uint8Array | undefined
  try {
    // Counted while it is read: hosts do not all check `content-length`.
    bytes = request.body ? await collectAtMost(request.body, maxBytes) : new Uint8Array()
  } catch (cause) {
    throw bodyFailure(cause)
  }
  if (!bytes) throw tooLarge(maxBytes)
  return bytes
}

/** The error of a body that cannot be read. Bodies that this package has created fail with the final error. */
export function bodyFailure(cause: unknown): Error {
  if (cause instanceof A2AError || (cause instanceof TypeError && cause.message === readBeforeText)) return cause
  return new BodyInterrupted(cause)
}

const readBeforeText = 'The request body was read before this handler; mount it before body parsers'

export function readBefore(): TypeError {
  return new TypeError(readBeforeText)
}

export function parseJson(bytes: Uint8Array, limits = defaultRequestLimits): unknown {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw new A2AError('PARSE_ERROR', 'Invalid JSON payload: not UTF-8')
  }
  if (text.length > Math.min(harmlessLength, limits.jsonElements)) assertShape(text, limits)
  try {
    return JSON.parse(text)
  } catch {
    throw new A2AError('PARSE_ERROR', 'Invalid JSON payload')
  }
}

/** Checked before parsing: a body of another type is an unsupported content type, not invalid JSON (R-RPC-5). */
export function assertJson(headers: Pick<Headers, 'get'>): void {
  const mediaType = mediaTypeOf(headers.get('content-type'))
  if (mediaType === undefined || mediaType === 'application/json' || mediaType === 'application/a2a+json') return
  throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', `${mediaType} is not accepted, send application/json`, {
    metadata: { mediaType },
  })
}

/** `application/json; charset=utf-8` → `application/json`. */
function mediaTypeOf(header: string | null): string | undefined {
  if (header === 'application/json') return header
  return header?.split(';', 1)[0]?.trim().toLowerCase() || undefined
}

/** Checks the text before parsing, which would create millions of values. */
function assertShape(text: string, { jsonDepth, jsonElements }: RequestLimits): void {
  let depth = 0
  let elements = 1
  let isString = false
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place)
    if (isString) {
      if (code === 0x5c) place++
      else if (code === 0x22) isString = false
    } else if (code === 0x22) isString = true
    else if (code === 0x5b || code === 0x7b) {
      depth += 1
      elements += 1
      if (depth > jsonDepth) throw tooDeep(jsonDepth)
    } else if (code === 0x5d || code === 0x7d) depth -= 1
    else if (code === 0x2c) elements += 1
    if (elements > jsonElements) throw tooManyElements(jsonElements)
  }
}

function tooDeep(jsonDepth: number): A2AError {
  const text = `Invalid JSON payload: nested too deeply (limit jsonDepth: ${jsonDepth})`
  return new A2AError('PARSE_ERROR', text, { metadata: limitMetadata({ limit: 'jsonDepth', max: jsonDepth }) })
}

export function tooManyElements(jsonElements: number): A2AError {
  const text = `The request has too many values (limit jsonElements: ${jsonElements})`
  const metadata = limitMetadata({ limit: 'jsonElements', max: jsonElements })
  return new A2AError('PAYLOAD_TOO_LARGE', text, { metadata })
}

export function tooLarge(maxBytes: number): A2AError {
  const text = `The request is too large (limit bodyBytes: ${maxBytes} bytes)`
  return new A2AError('PAYLOAD_TOO_LARGE', text, { metadata: limitMetadata({ limit: 'bodyBytes', max: maxBytes }) })
}
