import type { Message } from '../model/message.js'
import type { CallContext, SendMessageRequest } from '../model/service.js'

// Only makes ids differ; nothing depends on its value.
let messages = 0

/** A user's message with one text part. */
export function userMessage(text: string, more: Partial<Message> = {}): Message {
  messages += 1
  return { messageId: `message-${messages}`, role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** A request to send one text. */
export function send(
  text: string,
  more: Partial<Message> = {},
  configuration?: SendMessageRequest['configuration'],
): SendMessageRequest {
  return { message: userMessage(text, more), ...(configuration && { configuration }) }
}

/** The context of a call by `ann`, in v1.0. */
export function callBy(owner = 'ann', more: Partial<CallContext> = {}): CallContext {
  return { caller: { id: owner }, ...more }
}
