/** The result of authenticating a request: its caller, or the error to reject it with. */
import type { A2AError } from './errors.js'
import type { Caller } from './service.js'

export interface Refused {
  readonly refused: A2AError
  /** The value of `WWW-Authenticate`. */
  readonly challenge?: string
  /** The caller, if it was authenticated and rejected for another reason. */
  readonly caller?: Caller
}

export type AuthResult = Caller | Refused

export function isRefused(result: AuthResult): result is Refused {
  return 'refused' in result
}
