/** What becomes of a request at the door: it is somebody's, or it is refused. */
import type { A2AError } from './errors.js'
import type { Caller } from './service.js'

export interface Refused {
  readonly refused: A2AError
  /** What would help, as in `WWW-Authenticate`. */
  readonly challenge?: string
  /** Who it is, when that was not the reason. */
  readonly caller?: Caller
}

export type Admission = Caller | Refused

export function isRefused(admission: Admission): admission is Refused {
  return 'refused' in admission
}
