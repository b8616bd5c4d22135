import { A2AError } from '../model/errors.js'
import type { AgentKey } from './registry-messages.js'

/** Error codes of a registry. Each of its APIs maps them to its own codes. */
const registryErrorCodes = [
  'INVALID',
  'NOT_FOUND',
  'CONFLICT',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'QUOTA',
  'TOO_LARGE',
  'UNSUPPORTED',
  'UNAVAILABLE',
  'INTERNAL',
] as const

/** The code of a `RegistryError`. */
export type RegistryErrorCode = (typeof registryErrorCodes)[number]

/** One problem of a request that a registry rejected. */
export interface RegistryProblem {
  /** JSON path, such as `card.skills[0].id`. */
  readonly path: string
  readonly message: string
}

/** An error that a registry reported. */
export class RegistryError extends Error {
  readonly code: RegistryErrorCode
  readonly problems: readonly RegistryProblem[]
  /** Value of `WWW-Authenticate` for `UNAUTHENTICATED`. */
  readonly challenge: string | undefined
  /** Seconds until a retry makes sense. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: RegistryErrorCode,
    message: string,
    options: {
      readonly cause?: unknown
      readonly problems?: readonly RegistryProblem[]
      readonly challenge?: string
      readonly retryAfterSeconds?: number
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RegistryError'
    this.code = code
    this.problems = options.problems ?? []
    this.challenge = options.challenge
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  /** Converts any thrown value. The text of an unknown error is kept in the cause and never sent to callers. */
  static from(caught: unknown): RegistryError {
    if (caught instanceof RegistryError) return caught
    if (caught instanceof A2AError && caught.code === 'UNAVAILABLE')
      return new RegistryError('UNAVAILABLE', caught.message, { cause: caught })
    return new RegistryError('INTERNAL', 'Internal error', { cause: caught })
  }
}

/** Creates an `INVALID` error about one field. `path` is a JSON path such as `card.skills[0].id`. */
export function invalid(path: string, message: string): RegistryError {
  return new RegistryError('INVALID', `${path}: ${message}`, { problems: [{ path, message }] })
}

export function notFound({ namespace, name }: AgentKey): RegistryError {
  return new RegistryError('NOT_FOUND', `Agent not found: ${name} in ${namespace}`)
}
