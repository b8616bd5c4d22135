/** From the bytes of a request to JSON, within bounds: size, encoding, elements, depth. */
import { A2AError } from '../model/errors.js'
import { collectAtMost } from '../net/read-at-most.js'

/** What a request may look like before anybody tries to understand it. */
export interface RequestLimits {
  /** Bytes of a request. Default 10 MB. */
  readonly bodyBytes: number
  /**
   * Values in a request, however deep. Ten megabytes of text are copied in no time, but of digits and commas
   * they would keep everybody waiting for seconds. Default 50,000.
   */
  readonly jsonElements: number
  /** Lists and objects inside each other. Default 128. */
  readonly jsonDepth: number
}

export const defaultRequestLimits: RequestLimits = {
  bodyBytes: 10 * 1024 * 1024,
  jsonElements: 50_000,
  jsonDepth: 128,
}

const decoder = new TextDecoder('utf-8', { fatal: true })
/** Text this short cannot nest deeply enough to do harm. */
const harmlessLength = 2048

/** The client closed or reset its connection before the request body was complete. */
export class BodyInterrupted extends A2AError {
  constructor(cause: unknown) {
    super('INVALID_REQUEST', 'The connection closed before the end of the request body', { cause })
  }
}

/**
 * The body, or `PAYLOAD_TOO_LARGE` as soon as it is known to be; `BodyInterrupted` when it ends early; `TypeError` when
 * the application has read it before.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const announced = request.headers.get('content-length')
  if (Number(announced ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.bodyUsed) throw readBefore()
  let bytes: Uint8Array | undefined
  try {
    if (announced !== null) bytes = new Uint8Array(await request.arrayBuffer())
    else bytes = request.body ? await collectAtMost(request.body, maxBytes) : new Uint8Array()
  } catch (cause) {
    throw new BodyInterrupted(cause)
  }
  if (!bytes || bytes.byteLength > maxBytes) throw tooLarge(maxBytes)
  return bytes
}

function readBefore(): TypeError {
  return new TypeError('The request body was read before this handler; mount it before body parsers')
}

/**
 * The same request with a body that fails with `PAYLOAD_TOO_LARGE` when more than `maxBytes` of it are read, and as
 * `readBody` does when the body cannot be read.
 */
export function limitBody(request: Request, maxBytes: number): Request {
  const { url, method, headers, signal } = request
  if (bodilessMethods.has(method)) return request
  const isTooLong = Number(headers.get('content-length')) > maxBytes
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let length = 0
  const read = async (): Promise<Uint8Array | undefined> => {
    // Not touched before the first read: a request that is not read here can still be read elsewhere.
    if (!reader && request.bodyUsed) throw readBefore()
    reader ??= request.body?.getReader()
    try {
      return (await reader?.read())?.value
    } catch (cause) {
      throw new BodyInterrupted(cause)
    }
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const value = isTooLong ? undefined : await read()
        length += value?.byteLength ?? 0
        if (isTooLong || length > maxBytes) {
          reader?.cancel().catch(() => undefined)
          controller.error(tooLarge(maxBytes))
        } else if (value) controller.enqueue(value)
        else controller.close()
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const init: RequestInit & { readonly duplex: 'half' } = { method, headers, signal, body, duplex: 'half' }
  return new Request(url, init)
}

const bodilessMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

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

/** Before the body is parsed: a body that is not JSON has the wrong type, not the wrong syntax (R-RPC-5). */
export function assertJson(request: Request): void {
  const mediaType = mediaTypeOf(request.headers.get('content-type'))
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

/** Checked on the text, before a parser builds millions of values. */
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
  return new A2AError('PARSE_ERROR', `Invalid JSON payload: nested deeper than ${jsonDepth} levels`, {
    metadata: { limit: 'jsonDepth', max: String(jsonDepth) },
  })
}

export function tooManyElements(jsonElements: number): A2AError {
  return new A2AError('PAYLOAD_TOO_LARGE', `The request has more than ${jsonElements} values`, {
    metadata: { limit: 'jsonElements', max: String(jsonElements) },
  })
}

function tooLarge(maxBytes: number): A2AError {
  return new A2AError('PAYLOAD_TOO_LARGE', `The request is larger than ${maxBytes} bytes`, {
    metadata: { limit: 'bodyBytes', max: String(maxBytes) },
  })
}
