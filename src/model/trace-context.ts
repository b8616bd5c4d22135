/** W3C trace context of a call. Peers send it and it is forwarded, so invalid values are dropped. */
export interface TraceContext {
  readonly traceparent?: string
  /** Only present with `traceparent`. */
  readonly tracestate?: string
}

const form = /^([\da-f]{2})-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=-|$)/

export function readTraceparent(given: string | null | undefined): string | undefined {
  if (!given) return undefined
  const [known, version] = form.exec(given) ?? []
  // Later versions may append fields, which are ignored.
  if (known === undefined || version === 'ff' || (version === '00' && known !== given)) return undefined
  return known
}

const maxStateLength = 512
const maxMembers = 32
const member =
  /^(?:[a-z][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/** Returns the list unchanged or undefined: a truncated list would have another meaning. */
export function readTracestate(given: string | null | undefined): string | undefined {
  if (!given || given.length > maxStateLength) return undefined
  const members = given.split(',').map((each) => each.trim())
  const named = members.filter((each) => each !== '')
  return named.length > 0 && named.length <= maxMembers && named.every((each) => member.test(each))
    ? named.join(',')
    : undefined
}

/** Reads the trace context from request headers. */
export function readTraceContext(headers: Pick<Headers, 'get'>): TraceContext {
  const traceparent = readTraceparent(headers.get('traceparent'))
  if (traceparent === undefined) return none
  const tracestate = readTracestate(headers.get('tracestate'))
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}

const none: TraceContext = {}

/** Members may be present and undefined. */
interface MaybeTraced {
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** Picks the trace context from an object. */
export function traceContextOf({ traceparent, tracestate }: MaybeTraced): TraceContext {
  if (traceparent === undefined) return none
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}
