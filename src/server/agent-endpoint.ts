/** Everything one agent answers below its mount: cards, the doors of its dialects, tenants. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { type Admission, isRefused, type Refused } from '../model/admission.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import { readTraceContext } from '../model/trace-context.js'
import { refusedCall } from '../transports/call-record.js'
import { type BindingHandler, type IncomingCall, parameterHeaders } from '../transports/transport.js'
import type { CurrentCards } from './current-cards.js'
import { createDoors, type Door, type Doors } from './doors.js'
import { frontPage, isVisit } from './front-page.js'
import type { OfferedDialects } from './offered-dialects.js'
import type { OriginCheck } from './origins.js'
import { createCardServer } from './well-known.js'

export interface EndpointParts {
  /** As v1.0 has it. */
  readonly card: AgentCard
  /** Where the agent is, without a final slash. */
  readonly url: string
  readonly offered: OfferedDialects
  /** What every door of this agent shares; each puts its own dialects in. */
  readonly endpoint: BindingHandler
  readonly cards: CurrentCards
  readonly startedMs: number
  /** Who a request is from. Absent: everybody is `anonymous`. */
  readonly admit: Admit | undefined
  /** Those that exist, whoever may use them. */
  readonly tenants: ReadonlySet<string>
  readonly isFromHere: OriginCheck
  /** Cards are for callers that `admit` lets in, too. */
  readonly protectsCard: boolean
}

/** Answers a request by its path below the mount, which begins with a slash or is empty. */
export type AgentEndpoint = (request: Request, path: string, connection?: Connection) => Promise<Response>

/** What is known of a call before its caller is. */
type From = Omit<IncomingCall, 'caller' | 'body'>

interface Visit {
  readonly request: Request
  readonly path: string
  readonly door: Door
  readonly from: From
}

export function createAgentEndpoint(parts: EndpointParts): AgentEndpoint {
  const { card, url, offered, endpoint, cards, startedMs, admit, tenants, isFromHere, protectsCard } = parts
  const showFrontPage = async () => frontPage(card, url)
  const doors = createDoors(endpoint)
  const findCard = createCardServer(cards, {
    startedMs,
    isProtected: protectsCard,
    vary: protectsCard ? endpoint.vary : parameterHeaders.version,
    refuse: (request, error) => doors(request, '/.well-known/').refuse(error),
  })
  // Longer paths first: a pin below another one is its own.
  const byLength = [...offered.pinned].sort(([a], [b]) => b.length - a.length)
  const pinned = byLength.map(([path, dialect]) => ({
    path,
    doors: createDoors({ ...endpoint, dialects: [dialect] }, { isPinned: true }),
  }))

  const refuse = async ({ request, door, from }: Visit, { refused, challenge, caller }: Refused): Promise<Response> => {
    endpoint.onError(refused)
    // Whoever is nobody cannot have its calls appear in somebody's trace.
    const trace = caller && readTraceContext((name) => request.headers.get(name))
    refusedCall(endpoint.observe, { ...from, caller, binding: door.binding, trace }, refused)
    const response = await door.refuse(refused)
    if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
    return response
  }
  const enter = (visit: Visit, admission: Admission): Promise<Response> => {
    const { request, path, door, from } = visit
    if (isRefused(admission)) return refuse(visit, admission)
    const isHidden = from.tenant !== undefined && !endpoint.hasTenant(from.tenant, admission)
    // A tenant that is not this caller's does not exist: its name is a path that leads nowhere.
    if (isHidden) return findDoor(request, path, pinned, doors).answer({ caller: admission, address: from.address })
    return door.answer({ ...from, caller: admission })
  }

  return (request, path, connection) => {
    const answerCard = findCard(request, path)
    if (answerCard && !protectsCard) return answerCard()
    const { tenant, rest } = placeOf(path, tenants)
    const found = findDoor(request, rest, pinned, doors)
    const isVisited = found.isBlind && cards.first.unversioned && isVisit(request, rest)
    const answer = answerCard ?? (isVisited ? showFrontPage : undefined)
    const door = answer ? { ...found, answer } : found
    const address = connection?.address
    const from: From = tenant === undefined ? { address } : { address, tenant }
    const visit: Visit = { request, path, door, from }
    if (!isFromHere(request)) {
      return refuse(visit, { refused: new A2AError('PERMISSION_DENIED', 'This origin may not call this agent') })
    }
    const fail = (caught: unknown) => refuse(visit, { refused: A2AError.from(caught) })
    try {
      const admission = admit ? admit({ ...connection, headers: request.headers, url: request.url }) : anonymous
      if (!(admission instanceof Promise)) return enter(visit, admission)
      return admission.then((settled) => enter(visit, settled)).catch(fail)
    } catch (caught) {
      return fail(caught)
    }
  }
}

/** A path pinned to a dialect wins over recognition. */
function findDoor(
  request: Request,
  path: string,
  pinned: readonly { readonly path: string; readonly doors: Doors }[],
  doors: Doors,
): Door {
  for (const each of pinned) {
    if (path === each.path || path.startsWith(`${each.path}/`)) return each.doors(request, path.slice(each.path.length))
  }
  return doors(request, path)
}

/** A tenant prefix exists only where one is configured. */
function placeOf(path: string, tenants: ReadonlySet<string>): { readonly tenant?: string; readonly rest: string } {
  if (tenants.size === 0) return { rest: path }
  const [, first = '', behind = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? []
  const tenant = decodeOr(first)
  return tenants.has(tenant) ? { tenant, rest: behind } : { rest: path }
}

function decodeOr(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
