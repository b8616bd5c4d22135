/** Finds a dialect's route for a verb and path. `:` actions are matched before plain ids (R-REST-1). */
import type { RestRoute } from './dialect.js'

export interface Match {
  readonly route: RestRoute
  readonly pathParams: { readonly [name: string]: string }
}

interface CompiledRoute {
  readonly route: RestRoute
  readonly pattern: RegExp
  readonly names: readonly string[]
}

export type Router = (method: string, path: string) => Match | undefined

export function createRouter(routes: readonly RestRoute[]): Router {
  const compiled = routes.map(compile).sort((a, b) => Number(isAction(b.route)) - Number(isAction(a.route)))
  return (method, path) => {
    for (const { route, pattern, names } of compiled) {
      if (route.method !== method) continue
      const match = pattern.exec(path)
      if (!match) continue
      const values = match.slice(1).map(decodeSegment)
      if (values.includes(undefined)) return undefined
      return {
        route,
        pathParams: Object.fromEntries(names.map((name, place) => [name, values[place] ?? ''])),
      }
    }
    return undefined
  }
}

function compile(route: RestRoute): CompiledRoute {
  const names: string[] = []
  const source = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    names.push(name)
    return '([^/]+)'
  })
  return { route, names, pattern: new RegExp(`^${source}/?$`) }
}

/** `/tasks/{id}:cancel` rather than `/tasks/{id}`. */
export function isAction({ path }: RestRoute): boolean {
  return /\}:/.test(path)
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
