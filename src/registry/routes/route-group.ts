/** A way into a registry: paths, and words for what is refused. All doors lead to the same registry. */
import { A2AError } from '../../model/errors.js'
import { isObject } from '../../model/is-object.js'
import { invalid, RegistryError } from '../../registry-client/registry-error.js'
import { BodyInterrupted, parseJson, readBody } from '../../transports/read-json.js'
import type { Publisher } from '../publications.js'
import type { RegistryCore } from '../registry.js'
import type { WorkShare } from '../work-queue.js'

export interface RegistryCall {
  readonly request: Request
  readonly url: URL
  /** The caller; where nobody is known, there is one caller for all. */
  readonly publisher: Publisher
  /** The key that limits count the caller by. */
  readonly callerKey: string
  /** The caller's turns to look at many agents. */
  readonly share: WorkShare
}

export interface RouteGroup {
  /** Whether a path leads here. */
  owns(path: string): boolean
  /** Whether a call only reads. */
  isRead(request: Request): boolean
  answer(call: RegistryCall): Promise<Response>
  refuse(error: RegistryError): Response
}

export interface RouteGroupDeps {
  readonly registry: RegistryCore
  /** The address clients use, without a slash at its end. */
  readonly publicUrl: () => string
  readonly maxBodyBytes: number
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return text(status, JSON.stringify(body), headers)
}

export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } })
}

/** The body as a JSON object. */
export async function readObject(request: Request, maxBytes: number): Promise<Readonly<Record<string, unknown>>> {
  return objectIn(await readAll(request, maxBytes), 'The body')
}

/** JSON that somebody sent, within the bounds of all requests. */
export function objectIn(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (caught) {
    throw new RegistryError('INVALID', caught instanceof A2AError ? caught.message : `${what} is no JSON`)
  }
  if (isObject(value)) return value
  throw new RegistryError('INVALID', `${what} is a JSON object`)
}

export async function readAll(request: Request, maxBytes: number): Promise<Uint8Array> {
  try {
    return await readBody(request, maxBytes)
  } catch (caught) {
    if (caught instanceof BodyInterrupted) throw new RegistryError('INVALID', caught.message)
    if (caught instanceof A2AError) throw new RegistryError('TOO_LARGE', caught.message)
    throw caught
  }
}

/** A number from a query, within bounds; what is too large is cut, what is none is refused. */
export function numberIn(
  value: unknown,
  { field, usual, most }: { readonly field: string; readonly usual: number; readonly most: number },
): number {
  if (value === null || value === undefined || value === '') return usual
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN
  if (Number.isInteger(number) && number > 0) return Math.min(number, most)
  throw invalid(field, 'is no whole number above 0')
}

/** Path segments as they were meant; absent when they cannot be read. */
export function segmentsOf(path: string): readonly string[] | undefined {
  try {
    return path.split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}
