/** The contract of the registry's three HTTP APIs, and helpers for requests and responses. */
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { invalid, RegistryError } from '../../registry-client/registry-error.js'
import type { Exchange, HttpAnswer } from '../../transports/exchange.js'
import { BodyInterrupted, parseJson } from '../../transports/read-json.js'
import type { Publisher } from '../publications.js'
import type { RegistryCore } from '../registry.js'
import type { WorkShare } from '../work-queue.js'

/** An authenticated request. */
export interface RegistryCall {
  readonly exchange: Exchange
  readonly url: URL
  /** The caller; without authentication, all callers are one. */
  readonly publisher: Publisher
  /** The key that limits count by. */
  readonly callerKey: string
  /** The time slices of the caller's expensive reads. */
  readonly share: WorkShare
}

/** One API: its paths, its operations and the form of its errors. */
export interface RouteGroup {
  /** Whether the path belongs to this API. */
  owns(path: string): boolean
  /** Whether the request changes nothing. */
  isRead(exchange: Exchange): boolean
  answer(call: RegistryCall): Promise<HttpAnswer>
  /** Encodes an error. */
  refuse(error: RegistryError): HttpAnswer
}

export interface RouteGroupDeps {
  readonly registry: RegistryCore
  /** The URL that clients use, without a trailing slash. */
  readonly publicUrl: () => string
  readonly maxBodyBytes: number
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return text(status, JSON.stringify(body), headers)
}

export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}

/** Reads the body as a JSON object. */
export async function readObject(exchange: Exchange, maxBytes: number): Promise<Readonly<Record<string, unknown>>> {
  return objectIn(await readAll(exchange, maxBytes), 'The body')
}

/** Parses untrusted JSON within the limits of all requests. */
export function objectIn(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (caught) {
    throw new RegistryError('INVALID', caught instanceof A2AError ? caught.message : `${what} is not JSON`)
  }
  if (isObject(value)) return value
  throw new RegistryError('INVALID', `${what} must be a JSON object`)
}

export async function readAll(exchange: Exchange, maxBytes: number): Promise<Uint8Array> {
  try {
    return await exchange.readBody(maxBytes)
  } catch (caught) {
    if (caught instanceof BodyInterrupted) throw new RegistryError('INVALID', caught.message)
    if (caught instanceof A2AError) throw new RegistryError('TOO_LARGE', caught.message)
    throw caught
  }
}

/** Reads a positive integer; larger values than `max` become `max`. */
export function numberIn(
  value: unknown,
  { field, defaultValue, max }: { readonly field: string; readonly defaultValue: number; readonly max: number },
): number {
  if (value === null || value === undefined || value === '') return defaultValue
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN
  if (Number.isInteger(number) && number > 0) return Math.min(number, max)
  throw invalid(field, 'must be a whole number above 0')
}

/** Decoded path segments; undefined if they are malformed. */
export function segmentsOf(path: string): readonly string[] | undefined {
  try {
    return path.split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}
