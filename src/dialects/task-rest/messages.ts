/** Messages of task-rest: they have ids; everything else is as in v0.1. */
import type { Message } from '../../model/message.js'
import type { Struct } from '../../model/part.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageRequest } from '../../model/service.js'
import { object, optional, required, string, struct } from '../decode.js'
import {
  anyParts,
  encodeRole,
  isStrings,
  type ReadMessage as ReadPlainMessage,
  role,
  type WireMessage,
} from '../v0_1/messages.js'
import { encodePart } from '../v0_1/parts.js'
import { encodePushConfig, pushConfig } from '../v0_1/push-config.js'
import { standard } from '../v0_1/wire-form.js'

export interface ReadMessage extends ReadPlainMessage {
  readonly messageId?: string
  readonly taskId?: string
  readonly contextId?: string
}

export const readMessage = object<ReadMessage>({
  role: required(role),
  // The agent decides about a message without input: the body is not malformed (RL-L0-2).
  parts: required(anyParts),
  messageId: optional(string),
  taskId: optional(string),
  contextId: optional(string),
  metadata: optional(struct),
})

export function toMessage(read: ReadMessage, newId: () => string): Message {
  const { metadata, ...message } = read
  const messageId = message.messageId ?? newId()
  if (!metadata) return { ...message, messageId }
  const { a2aExtensions, a2aReferenceTaskIds, ...rest } = metadata
  return {
    ...message,
    messageId,
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
    ...(isStrings(a2aExtensions) && { extensions: a2aExtensions }),
    ...(isStrings(a2aReferenceTaskIds) && { referenceTaskIds: a2aReferenceTaskIds }),
  }
}

export function encodeMessage(message: Message): WireMessage & {
  readonly messageId: string
  readonly taskId: string | undefined
  readonly contextId: string | undefined
} {
  return {
    role: encodeRole(message.role),
    parts: message.parts.map((each) => encodePart(each, standard.messageParts)),
    messageId: message.messageId,
    taskId: message.taskId,
    contextId: message.contextId,
    metadata: message.metadata && { ...message.metadata, ...referencesOf(message) },
  }
}

/** As in v0.1, values without a member go into metadata if the message has metadata. */
function referencesOf({ extensions, referenceTaskIds }: Message): Struct {
  return {
    ...(extensions && { a2aExtensions: extensions }),
    ...(referenceTaskIds && { a2aReferenceTaskIds: referenceTaskIds }),
  }
}

interface SendBody {
  readonly message: ReadMessage
  readonly pushNotification?: TaskPushNotificationConfig
  readonly metadata?: Struct
}

export const sendBody = object<SendBody>({
  message: required(readMessage),
  pushNotification: optional(pushConfig),
  metadata: optional(struct),
})

export function toSendRequest(
  { message, pushNotification, metadata }: SendBody,
  newId: () => string,
): SendMessageRequest {
  return {
    message: toMessage(message, newId),
    ...(pushNotification && { configuration: { taskPushNotificationConfig: pushNotification } }),
    ...(metadata && { metadata }),
  }
}

export function encodeSendBody({ message, configuration, metadata }: SendMessageRequest): object {
  const push = configuration?.taskPushNotificationConfig
  return { message: encodeMessage(message), pushNotification: push && encodePushConfig(push), metadata }
}
