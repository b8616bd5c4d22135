/**
 * W3C trace context: which trace a call belongs to, which span caused it, and what the systems on its way have noted.
 * Strangers write it, and it is passed on: what is not of this form is dropped.
 */
export interface TraceContext {
  readonly traceparent?: string
  /** Only ever beside a `traceparent`. */
  readonly tracestate?: string
}

const form = /^([\da-f]{2})-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=-|$)/

export function readTraceparent(given: string | null | undefined): string | undefined {
  if (!given) return undefined
  const [known, version] = form.exec(given) ?? []
  // Later versions may add to it; what they add is theirs.
  if (known === undefined || version === 'ff' || (version === '00' && known !== given)) return undefined
  return known
}

const longestState = 512
const mostMembers = 32
const member =
  /^(?:[a-z][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/** Whole or not at all: a list that was cut would say something else. */
export function readTracestate(given: string | null | undefined): string | undefined {
  if (!given || given.length > longestState) return undefined
  const members = given.split(',').map((each) => each.trim())
  const named = members.filter((each) => each !== '')
  return named.length > 0 && named.length <= mostMembers && named.every((each) => member.test(each))
    ? named.join(',')
    : undefined
}

/** Of a call that has come in. */
export function readTraceContext(header: (name: 'traceparent' | 'tracestate') => string | null): TraceContext {
  const traceparent = readTraceparent(header('traceparent'))
  if (traceparent === undefined) return none
  const tracestate = readTracestate(header('tracestate'))
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}

const none: TraceContext = {}

/** Members may be there with nothing in them. */
interface MaybeTraced {
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** What of something is trace context, to be put into something else. */
export function traceContextOf({ traceparent, tracestate }: MaybeTraced): TraceContext {
  if (traceparent === undefined) return none
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}
