/**
 * Messages of v0.1. They have no ids and no task references: those are sent in metadata, if the message has metadata.
 */
import type { Message, Role } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageRequest } from '../../model/service.js'
import { array, converted, type Decoder, int32, object, optional, refuse, required, string, struct } from '../decode.js'
import { encodePart, part, type WirePart } from './parts.js'
import { encodePushConfig, pushConfig } from './push-config.js'
import type { WireForm } from './wire-form.js'

/** A decoded message: its parts are the model's, its ids are still in the metadata. */
export interface ReadMessage {
  readonly role: Role
  readonly parts: readonly Part[]
  readonly metadata?: Struct
}

export interface WireMessage {
  readonly role: string
  readonly parts: readonly WirePart[]
  readonly metadata?: Struct | undefined
}

export const role: Decoder<Role> = (value, faults) => {
  if (value === 'user') return 'ROLE_USER'
  if (value === 'agent') return 'ROLE_AGENT'
  return refuse(faults, 'must be user or agent')
}

export function encodeRole(role: Role): string {
  return role === 'ROLE_USER' ? 'user' : 'agent'
}

const someParts = array(part)

/** A list that may be empty. */
export const anyParts: Decoder<readonly Part[]> = (value, faults) => someParts(value, faults)

/** A message from a server. It may have no parts. */
export const readMessage = object<ReadMessage>({
  role: required(role),
  parts: required(anyParts),
  metadata: optional(struct),
})

const sentMessage = object<ReadMessage>({
  role: required(role),
  parts: required(someParts),
  metadata: optional(struct),
})

export function toMessage({ role, parts, metadata }: ReadMessage, newId: () => string): Message {
  if (!metadata) return { messageId: newId(), role, parts }
  const { a2aMessageId, a2aContextId, a2aTaskId, a2aExtensions, a2aReferenceTaskIds, ...rest } = metadata
  return {
    messageId: isGiven(a2aMessageId) ? a2aMessageId : newId(),
    ...(isGiven(a2aContextId) && { contextId: a2aContextId }),
    ...(isGiven(a2aTaskId) && { taskId: a2aTaskId }),
    role,
    parts,
    ...(Object.keys(rest).length > 0 && { metadata: rest }),
    ...(isStrings(a2aExtensions) && { extensions: a2aExtensions }),
    ...(isStrings(a2aReferenceTaskIds) && { referenceTaskIds: a2aReferenceTaskIds }),
  }
}

function isGiven(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

export function isStrings(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export function encodeMessage(message: Message, { messageParts }: WireForm): WireMessage {
  return {
    role: encodeRole(message.role),
    parts: message.parts.map((each) => encodePart(each, messageParts)),
    metadata: message.metadata && { ...message.metadata, ...idsOf(message) },
  }
}

/** Ids are added only to messages that have metadata, so that plain messages stay plain. */
function idsOf({ messageId, contextId, taskId, extensions, referenceTaskIds }: Message): Struct {
  return {
    a2aMessageId: messageId,
    ...(contextId !== undefined && { a2aContextId: contextId }),
    ...(taskId !== undefined && { a2aTaskId: taskId }),
    ...(extensions && { a2aExtensions: extensions }),
    ...(referenceTaskIds && { a2aReferenceTaskIds: referenceTaskIds }),
  }
}

/** An id chosen by the client (RM-ID-1): up to 256 characters, all visible. */
const chosenId: Decoder<string> = (value, faults) => {
  if (typeof value === 'string' && /^[^\p{Cc}\p{Cf}\p{Cs}\p{Z}]{1,256}$/u.test(value)) return value
  return refuse(faults, 'must be a string of 1 to 256 visible characters')
}

export const historyLength = converted(int32, (length, faults) =>
  length >= 0 ? length : refuse(faults, 'must not be negative'),
)

interface SendParams {
  /** Absent: the server generates one. */
  readonly id?: string
  readonly message: ReadMessage
  readonly sessionId?: string
  readonly pushNotification?: TaskPushNotificationConfig
  readonly historyLength?: number
  readonly metadata?: Struct
}

const sendMembers = {
  message: required(sentMessage),
  sessionId: optional(string),
  pushNotification: optional(pushConfig),
  historyLength: optional(historyLength),
  metadata: optional(struct),
}

const withId = object<SendParams>({ id: required(chosenId), ...sendMembers })
const withOrWithoutId = object<SendParams>({
  id: optional(Object.assign(chosenId.bind(undefined), { isUnset: (id: unknown) => id === '' })),
  ...sendMembers,
})

export function sendParams({ makesTaskIds }: WireForm): Decoder<SendParams> {
  return makesTaskIds ? withOrWithoutId : withId
}

/** The message does not name the task: the id may be new. The caller decides whether to create the task. */
export function toSendRequest(params: SendParams, newId: () => string, { hasHistory }: WireForm): SendMessageRequest {
  const { id, sessionId, pushNotification, metadata } = params
  const { taskId: _taskId, ...message } = toMessage(params.message, newId)
  return {
    message: sessionId === undefined ? message : { ...message, contextId: sessionId },
    configuration: {
      ...(pushNotification && { taskPushNotificationConfig: { ...(id !== undefined && { id }), ...pushNotification } }),
      historyLength: hasHistory ? (params.historyLength ?? 0) : 0, // omitted unless requested (RL-01-3)
    },
    ...(metadata && { metadata }),
  }
}

/** A message that names no task starts one, under an id that the client generates. */
export function encodeSendParams(request: SendMessageRequest, newId: () => string, wireForm: WireForm): object {
  const { message, configuration, metadata } = request
  const push = configuration?.taskPushNotificationConfig
  return {
    id: message.taskId ?? newId(),
    sessionId: message.contextId,
    message: encodeMessage(message, wireForm),
    pushNotification: push && encodePushConfig(push),
    historyLength: configuration?.historyLength,
    metadata,
  }
}
