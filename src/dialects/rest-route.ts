/** Finds a dialect's route for an HTTP method and path. `:` actions are matched before plain ids (R-REST-1). */

import { invalidField } from '../model/errors.js'
import type { RestRequest } from './client-dialect.js'
import type { RestRoute } from './dialect.js'

export interface Match {
  readonly route: RestRoute
  /** Absent if the route has no parameters. */
  readonly pathParams?: { readonly [name: string]: string }
}

interface CompiledRoute {
  readonly route: RestRoute
  readonly pattern: RegExp
  readonly names: readonly string[]
}

type Router = (method: string, path: string) => Match | undefined

export function createRouter(routes: readonly RestRoute[]): Router {
  const compiled = routes.map(compile).sort((a, b) => Number(isAction(b.route)) - Number(isAction(a.route)))
  return (method, path) => {
    for (const { route, pattern, names } of compiled) {
      if (route.method !== method) continue
      const match = pattern.exec(path)
      if (!match) continue
      if (names.length === 0) return { route }
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

/** Whether the route is an action such as `/tasks/{id}:cancel`. */
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

/** Requires a value: JavaScript callers may omit it. */
export function given(field: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidField(field, 'is required')
}

/** Encodes a value as one path segment. An empty segment would address the list, dots a parent path. */
export function segment(field: string, value: string | undefined): string {
  const text = given(field, value)
  if (text === '.' || text === '..') throw invalidField(field, 'must not be . or ..')
  return encodeURIComponent(text.toWellFormed())
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** Creates a GET request. Query parameters are text: numbers decimal, flags `true` or `false` (R-REST-2). */
export function get(path: string, params: Query = {}): RestRequest {
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query[name] = String(value)
  return Object.keys(query).length > 0 ? { method: 'GET', path, query } : { method: 'GET', path }
}

export function post(path: string, body: unknown): RestRequest {
  return { method: 'POST', path, body }
}

export function remove(path: string): RestRequest {
  return { method: 'DELETE', path }
}
