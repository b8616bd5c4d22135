import type { Part, Struct } from './part.js'

/** The sender of a message: the client is the user, the agent is the agent. */
export type Role = 'ROLE_USER' | 'ROLE_AGENT'

/** One turn of a conversation. */
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
