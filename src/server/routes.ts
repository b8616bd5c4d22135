/** What a port carries beside its agents: the API of an application, a page. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import type { Log } from '../model/log.js'
import type { AgentService, Caller } from '../model/service.js'
import type { OriginCheck } from './origins.js'
import { admitted, refusalOf } from './refusal.js'

export interface Route {
  /** Such as `/api/documents`: what is below it belongs to it too. `/` is that one page, and nothing below it. */
  readonly path: string
  /** Undefined: it is not for this route after all; the agents are asked. */
  readonly answer: (request: Request, visit: Visit) => Promise<Response> | undefined
  /**
   * Everybody may come in, from every web page: it decides itself. Default: the callers and the pages that agents on
   * this port let in.
   */
  readonly isPublic?: boolean
}

/** Who asks, and whom a route can ask in turn. */
export interface Visit {
  /** Whoever met `auth`; `anonymous` where there is none, or the route is public. */
  readonly caller: Caller
  /** The agents of this port, by name. Calls are made for a caller: `service.getTask({ id }, { caller, dialect: 'v1' })`. */
  readonly services: ReadonlyMap<string, AgentService>
  /** Where it comes from, for routes that let people in themselves; absent where nobody can tell. */
  readonly connection?: Connection
}

export interface RoutesParts {
  readonly routes: readonly Route[]
  readonly services: ReadonlyMap<string, AgentService>
  readonly admit: Admit | undefined
  readonly isFromHere: OriginCheck
  readonly log: Log
}

/** Undefined where no route answers. */
export type AnswerRoute = (
  request: Request,
  path: string,
  connection?: Connection,
) => Promise<Response | undefined> | undefined

export function createRoutes({ routes, services, admit, isFromHere, log }: RoutesParts): AnswerRoute | undefined {
  if (routes.length === 0) return undefined
  for (const { path } of routes)
    if (!/^\/(?:$|[^/].*[^/]$|[^/]$)/.test(path))
      throw new TypeError(`${JSON.stringify(path)} is no path of a route: write /api`)
  // Longer paths first: a route below another one is its own.
  const byLength = [...routes].sort((a, b) => b.path.length - a.path.length)

  const visit = async (route: Route, request: Request, connection?: Connection): Promise<Response | undefined> => {
    const isOpen = route.isPublic === true
    if (!isOpen && !isFromHere(request))
      return refusalOf({ refused: new A2AError('PERMISSION_DENIED', 'This origin may not call here') })
    const caller = await admitted(isOpen ? undefined : admit, request, connection)
    if (isRefused(caller)) return refusalOf(caller)
    try {
      return await route.answer(request, { caller, services, ...(connection && { connection }) })
    } catch (error) {
      log({ level: 'error', message: `The route ${route.path} failed`, error })
      return refusalOf({ refused: A2AError.from(error) })
    }
  }
  return (request, path, connection) => {
    const route = byLength.find((each) => path === each.path || (each.path !== '/' && path.startsWith(`${each.path}/`)))
    return route && visit(route, request, connection)
  }
}
