/** Further routes of a port beside its agents: the API of an application, a page. */
import type { Visit } from './endpoints.js'
import type { RouteEndpoint } from './guarded-endpoints.js'
import { refusalOf } from './refusal.js'

/** A path on the agents' address that the application serves itself. */
export interface Route {
  /** The path, such as `/api/documents`, with everything below it. `/` matches that one page only. */
  readonly path: string
  /**
   * Answers a request. Undefined: the route does not handle the request, and the agents are tried. Reading a body that is
   * larger than `limits.bodyBytes` fails with status 413.
   */
  readonly answer: (request: Request, visit: Visit) => Promise<Response> | undefined
  /**
   * Accepts every caller and every web page; the route checks access itself. Default false: the route has the `auth` and
   * `cors` of the agents on this port.
   */
  readonly isPublic?: boolean
}

/** An endpoint with `Request` and `Response`, whose errors are those of A2A. */
export function toEndpoint({ path, answer, isPublic = false }: Route): RouteEndpoint {
  return {
    name: path,
    route: path,
    paths: [path],
    isPublic,
    async answer(_exchange, visit) {
      const response = await answer(visit.toRequest(), visit)
      if (response !== undefined && !(response instanceof Response))
        throw new TypeError('`answer` of a route must return a Response, or undefined')
      return response
    },
    refuse: (refused) => refusalOf({ refused }),
  }
}
