import type { Part, Struct } from './part.js'

/** The sender of a message: `ROLE_USER` is the client. */
export type Role = 'ROLE_USER' | 'ROLE_AGENT'

/** A message from the client or the agent. */
export interface Message {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: Role
  readonly parts: readonly Part[]
  readonly metadata?: Struct
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}
