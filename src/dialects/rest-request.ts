/** Requests over HTTP+JSON: addresses that mean what they are meant to. */
import { invalidField } from '../model/errors.js'
import type { RestRequest } from './client-dialect.js'

/** A value without which there is no request. Callers in JavaScript may forget it. */
export function given(field: string, value: string | undefined): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidField(field, 'is required')
}

/** A value as one segment of a path. An empty one would address the list around it, dots what is above it. */
export function segment(field: string, value: string | undefined): string {
  const text = given(field, value)
  if (text === '.' || text === '..') throw invalidField(field, 'cannot be part of an address')
  return encodeURIComponent(text.toWellFormed())
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** Query parameters are text: numbers decimal, flags `true` or `false` (R-REST-2). */
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
