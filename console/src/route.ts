/** The route of the page: a path and parameters in the URL fragment. */
import { useSyncExternalStore } from 'react'

export interface Route {
  /** Decoded segments: `#/tasks/REF/ID` is `['tasks', 'REF', 'ID']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) }
}

/** The URL of a route, without absent parameters. */
export function hrefTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  return `#/${path.map(encodeURIComponent).join('/')}${search}`
}

export function go(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = hrefTo(path, query)
}

/** Replaces the route without a new entry in the browser's history. */
export function replaceRoute(path: readonly string[], query: Readonly<Record<string, string | undefined>>): void {
  history.replaceState(null, '', hrefTo(path, query))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  return readRoute(useSyncExternalStore(subscribe, () => location.hash))
}

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
