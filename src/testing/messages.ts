import type { Message } from '../model/message.js'
import type { CallContext, SendMessageRequest } from '../model/service.js'

// Makes ids unique; nothing depends on its value.
let messages = 0

/** Creates a message of the user with one text part. `more` adds or replaces members. */
export function userMessage(text: string, more: Partial<Message> = {}): Message {
  messages += 1
  return { messageId: `message-${messages}`, role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** Creates a `SendMessageRequest` with one text part. */
export function send(
  text: string,
  more: Partial<Message> = {},
  configuration?: SendMessageRequest['configuration'],
): SendMessageRequest {
  return { message: userMessage(text, more), ...(configuration && { configuration }) }
}

/** Creates the context of a call by the given caller, `ann` by default. */
export function callBy(owner = 'ann', more: Partial<CallContext> = {}): CallContext {
  return { caller: { id: owner }, ...more }
}
