/** Everything one agent answers below its mount: cards, the doors of its dialects, tenants. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { type Admission, isRefused, type Refused } from '../model/admission.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { anonymous, type Caller } from '../model/service.js'
import type { Endpoint } from '../transports/transport.js'
import type { SpelledCards } from './card-forms.js'
import { createDoors, type Door, type Doors } from './doors.js'
import { frontPage, isVisit } from './front-page.js'
import type { OfferedDialects } from './offered-dialects.js'
import { createCardServer } from './well-known.js'

export interface EndpointParts {
  /** As v1.0 has it. */
  readonly card: AgentCard
  /** Where the agent is, without a final slash. */
  readonly url: string
  readonly offered: OfferedDialects
  /** What every door of this agent shares; each puts its own dialects in. */
  readonly endpoint: Endpoint
  readonly cards: SpelledCards
  readonly startedMs: number
  /** Who a request is from. Absent: everybody is `anonymous`. */
  readonly admit: Admit | undefined
  /** Origins that browsers may call from, beside this server's own. */
  readonly origins: ReadonlySet<string>
}

/** Answers a request by its path below the mount, which begins with a slash or is empty. */
export type AgentEndpoint = (request: Request, path: string, connection?: Connection) => Promise<Response>

export function createAgentEndpoint(parts: EndpointParts): AgentEndpoint {
  const { card, url, offered, endpoint, cards, startedMs, admit, origins } = parts
  const ownHost = new URL(url).host
  const showFrontPage = async () => frontPage(card, url)
  const doors = createDoors(endpoint)
  const answerCard = createCardServer(cards, {
    startedMs,
    refuse: (request, error) => doors(request, '/.well-known/').refuse(error),
  })
  // Longer paths first: a pin below another one is its own.
  const byLength = [...offered.pinned].sort(([a], [b]) => b.length - a.length)
  const pinned = byLength.map(([path, dialect]) => ({
    path,
    doors: createDoors({ ...endpoint, dialects: [dialect] }, { isPinned: true }),
  }))

  const fail = (door: Door, caught: unknown): Promise<Response> => {
    const error = A2AError.from(caught)
    endpoint.onError(error)
    return door.refuse(error)
  }
  const enter = (door: Door, admission: Admission, tenant: string | undefined): Promise<Response> =>
    isRefused(admission) ? refuse(door, admission) : door.answer(arrivalOf(admission, tenant))

  return (request, path, connection) => {
    const answered = answerCard(request, path)
    if (answered) return answered
    const { tenant, rest } = placeOf(path, endpoint.tenants)
    const found = findDoor(request, rest, pinned, doors)
    const door =
      found.isBlind && cards.unversioned && isVisit(request, rest) ? { ...found, answer: showFrontPage } : found
    if (!isFromHere(request, origins, ownHost)) {
      return door.refuse(new A2AError('PERMISSION_DENIED', 'This origin may not call this agent'))
    }
    if (!admit) return door.answer(arrivalOf(anonymous, tenant))
    try {
      const admission = admit({ ...connection, headers: request.headers, url: request.url })
      if (!(admission instanceof Promise)) return enter(door, admission, tenant)
      return admission.then(
        (settled) => enter(door, settled, tenant),
        (caught: unknown) => fail(door, caught),
      )
    } catch (caught) {
      return fail(door, caught)
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

function arrivalOf(caller: Caller, tenant: string | undefined): { readonly caller: Caller; readonly tenant?: string } {
  return tenant === undefined ? { caller } : { caller, tenant }
}

/**
 * A web page may send simple requests to any address its reader can reach, loopback included. Browsers
 * say where they come from; other clients do not, and pass.
 */
function isFromHere(request: Request, origins: ReadonlySet<string>, ownHost: string): boolean {
  const origin = request.headers.get('origin')
  if (origin === null || origins.has(origin)) return true
  if (!URL.canParse(origin)) return false
  const { host, hostname } = new URL(origin)
  if (host === ownHost) return true
  // A name of the page's own choosing may lead here too (DNS rebinding): only names that cannot are believed.
  return host === new URL(request.url).host && /^(localhost|[\d.]+|\[[\da-f:.]+\])$/i.test(hostname)
}

async function refuse(door: Door, { refused, challenge }: Refused): Promise<Response> {
  const response = await door.refuse(refused)
  if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
  return response
}

function decodeOr(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
