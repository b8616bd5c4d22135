/** Encoding and decoding of messages and send requests. */
import type { Message } from '../../model/message.js'
import type { JsonValue } from '../../model/part.js'
import type { SendMessageConfiguration, SendMessageRequest } from '../../model/service.js'
import {
  array,
  boolean,
  converted,
  type Decoder,
  decodeOrThrow,
  int32,
  object,
  optional,
  required,
  string,
  struct,
} from '../decode.js'
import { lenientMessage } from '../lenient-decoders.js'
import { encodeParts, part } from './parts.js'
import { encodeWebhook, givenId, webhook } from './push-config.js'
import {
  inBothShapes,
  inEveryPartForm,
  reserved,
  role,
  type Shape,
  type Wire,
  type WireForm,
  withoutKeys,
} from './wire-form.js'

/** A message in a request: it must have content (R3-SEND-2). `kind` may be missing (RL-02-3) and is ignored. */
const sentMessage = inEveryPartForm((form, shape) =>
  withReferences(
    object<Message>(
      {
        messageId: required(string),
        contextId: optional(string),
        taskId: optional(string),
        role: required(role),
        metadata: optional(struct),
        extensions: optional(array(string)),
        referenceTaskIds: optional(array(string)),
        parts: required(array(part[form])),
      },
      { aliases: { parts: ['content'] } }, // the protobuf's name; accepted in both shapes (R3-PB-2)
    ),
    shape,
  ),
)

/** A message in a response. */
export const message = inEveryPartForm((form, shape) => withReferences(lenientMessage(part[form]), shape))

/** The protobuf has no reference task ids: they are sent in metadata. */
function withReferences(decode: Decoder<Message>, shape: Shape): Decoder<Message> {
  if (shape === 'json') return decode
  return converted(decode, (read) => {
    const carried = read.metadata?.[reserved.referenceTaskIds]
    if (!read.metadata || !isTexts(carried)) return read
    const { metadata, ...rest } = read
    const left = withoutKeys(metadata, [reserved.referenceTaskIds])
    return { ...rest, ...(left && { metadata: left }), referenceTaskIds: rest.referenceTaskIds ?? carried }
  })
}

function isTexts(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
}

export function decodeMessage(wire: unknown, { partForm }: WireForm): Message {
  return decodeOrThrow(message[partForm], wire)
}

export function encodeMessage(content: Message, as: WireForm): Wire {
  const { messageId, contextId, taskId, metadata, extensions, referenceTaskIds } = content
  const isJson = as.shape === 'json'
  const wire: Wire = isJson ? { kind: 'message', messageId } : { messageId }
  if (contextId !== undefined) wire.contextId = contextId
  if (taskId !== undefined) wire.taskId = taskId
  wire.role = as.roles[content.role]
  const parts = encodeParts(content.parts, as)
  if (isJson) wire.parts = parts
  else wire.content = parts
  if (metadata) wire.metadata = metadata
  if (extensions) wire.extensions = extensions
  if (referenceTaskIds && isJson) wire.referenceTaskIds = referenceTaskIds
  else if (referenceTaskIds) wire.metadata = { ...metadata, [reserved.referenceTaskIds]: referenceTaskIds }
  return wire
}

/** The protobuf does not distinguish 0 from an absent number (R3-GET-2). */
export const historyLength: Readonly<Record<Shape, Decoder<number>>> = {
  json: int32,
  proto: Object.assign((...args: Parameters<Decoder<number>>) => int32(...args), {
    isUnset: (value: unknown) => value === 0 || value === '0' || value === '',
  }),
}

interface Configuration extends Pick<SendMessageConfiguration, 'acceptedOutputModes' | 'historyLength'> {
  readonly blocking?: boolean
  readonly pushNotificationConfig?: NonNullable<SendMessageConfiguration['taskPushNotificationConfig']>
}

const configuration = inBothShapes((shape) =>
  converted<Configuration, SendMessageConfiguration>(
    object<Configuration>(
      {
        acceptedOutputModes: optional(array(string)),
        historyLength: optional(historyLength[shape]),
        blocking: optional(boolean),
        pushNotificationConfig: optional(webhook),
      },
      { aliases: { pushNotificationConfig: ['pushNotification'] } },
    ),
    // Protobuf writers omit `false`, so a configuration without `blocking` does not wait (R3-SEND-5).
    ({ blocking = shape === 'proto' ? false : undefined, pushNotificationConfig: hook, ...rest }) => ({
      ...rest,
      ...(blocking !== undefined && { returnImmediately: !blocking }),
      ...(hook && { taskPushNotificationConfig: nameless(hook) }),
    }),
  ),
)

function nameless<H extends { readonly id?: string }>(hook: H): H | Omit<H, 'id'> {
  if (givenId(hook.id) !== undefined) return hook
  const { id: _id, ...rest } = hook
  return rest
}

export const sendRequest = inEveryPartForm((form, shape) =>
  object<Omit<SendMessageRequest, 'tenant'>>(
    {
      message: required(sentMessage[form]),
      configuration: optional(configuration[shape]),
      metadata: optional(struct),
    },
    { aliases: { message: ['request'] } },
  ),
)

export function decodeSendRequest(wire: unknown, { partForm }: WireForm): SendMessageRequest {
  return decodeOrThrow(sendRequest[partForm], wire)
}

export function encodeSendRequest(
  { message: sent, configuration: asked, metadata }: SendMessageRequest,
  as: WireForm,
): Wire {
  const content = encodeMessage(sent, as)
  const wire: Wire = as.hasFieldNames ? { request: content } : { message: content }
  if (asked) {
    // Peers differ in the default of `blocking`, so it is always sent.
    const out: Wire = { blocking: !asked.returnImmediately }
    if (asked.acceptedOutputModes) out.acceptedOutputModes = asked.acceptedOutputModes
    if (asked.historyLength !== undefined) out.historyLength = asked.historyLength
    if (asked.taskPushNotificationConfig) out[as.pushConfig] = encodeWebhook(asked.taskPushNotificationConfig)
    wire.configuration = out
  }
  if (metadata) wire.metadata = metadata
  return wire
}
