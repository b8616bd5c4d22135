import { A2AError } from '../model/errors.js'
import type { AgentKey } from './registry-words.js'

/** What a registry refuses, in no particular door's words; each door has a table of its own spellings. */
export const registryErrorCodes = [
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
  /** A JSON path such as `card.skills[0].id`. */
  readonly path: string
  readonly message: string
}

/** An error that a registry reported. */
export class RegistryError extends Error {
  readonly code: RegistryErrorCode
  readonly problems: readonly RegistryProblem[]
  /** What would help, as in `WWW-Authenticate`. */
  readonly challenge: string | undefined
  /** When it may be tried again. */
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

  /** Any caught value; the text of an unknown error never reaches a caller: it becomes the cause. */
  static from(caught: unknown): RegistryError {
    if (caught instanceof RegistryError) return caught
    if (caught instanceof A2AError && caught.code === 'UNAVAILABLE')
      return new RegistryError('UNAVAILABLE', caught.message, { cause: caught })
    return new RegistryError('INTERNAL', 'Internal error', { cause: caught })
  }
}

/** What is wrong with what was given, and where: `path` is a JSON path such as `card.skills[0].id`. */
export function invalid(path: string, message: string): RegistryError {
  return new RegistryError('INVALID', `${path}: ${message}`, { problems: [{ path, message }] })
}

export function notFound({ namespace, name }: AgentKey): RegistryError {
  return new RegistryError('NOT_FOUND', `There is no agent ${name} in ${namespace}`)
}
