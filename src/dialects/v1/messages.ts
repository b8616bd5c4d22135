import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Part } from '../../model/part.js'
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageConfiguration, SendMessageRequest } from '../../model/service.js'
import {
  array,
  boolean,
  bytes,
  converted,
  countPresent,
  type Decoder,
  enumeration,
  int32,
  json,
  object,
  optional,
  presentString,
  refuse,
  required,
  string,
  struct,
} from '../decode.js'

/** A file in drafts before v1.0: `{"file": {"fileWithBytes" or "fileWithUri", "mediaType", "name"}}`. */
type FileContent = Pick<AnyPart, 'raw' | 'url' | 'filename' | 'mediaType'>

interface PreReleaseFile {
  readonly fileWithBytes?: string
  readonly fileWithUri?: string
  readonly mediaType?: string
  readonly name?: string
}

const preReleaseFile = converted(
  object<PreReleaseFile>({
    fileWithBytes: optional(bytes),
    fileWithUri: optional(presentString),
    mediaType: optional(string),
    name: optional(string),
  }),
  ({ fileWithBytes, fileWithUri, mediaType, name }, faults): FileContent | undefined => {
    // Writers that send all members leave the unused one empty.
    if (fileWithBytes && fileWithUri) return refuse(faults, 'must have only one of fileWithBytes, fileWithUri')
    const url = fileWithUri || fileWithBytes === undefined ? fileWithUri : undefined
    const raw = url === undefined ? fileWithBytes : undefined
    if (url === undefined && raw === undefined) return refuse(faults, 'must have one of fileWithBytes, fileWithUri')
    return {
      ...(url !== undefined && { url }),
      ...(raw !== undefined && { raw }),
      ...(mediaType !== undefined && { mediaType }),
      ...(name !== undefined && { filename: name }),
    }
  },
)

/** All members of all kinds of parts; the `oneof` below requires exactly one kind. */
interface AnyPart {
  readonly text?: string
  readonly raw?: string
  readonly url?: string
  readonly data?: unknown
  readonly metadata?: Part['metadata']
  readonly filename?: string
  readonly mediaType?: string
}

const partMembers = {
  text: optional(presentString),
  raw: optional(bytes),
  url: optional(presentString),
  data: optional(json as Decoder<NonNullable<unknown>>),
  metadata: optional(struct),
  filename: optional(string),
  mediaType: optional(string),
}

const contents = ['text', 'raw', 'url', 'data'] as const

const releasedPart = object<AnyPart>(partMembers, { oneof: contents })

interface PreReleasePart extends AnyPart {
  readonly file?: FileContent
}

const preReleaseMembers = { ...partMembers, file: optional(preReleaseFile) }
const preReleasePart = converted(
  object<PreReleasePart>(preReleaseMembers, { oneof: [...contents, 'file'] }),
  withoutFile,
)

/** A `file` that is not an object is an unknown member. */
export const part = ((value, faults) =>
  isObject(value) && isObject(value.file)
    ? preReleasePart(value, faults)
    : releasedPart(value, faults)) as Decoder<Part> // exactly one kind of content is present

/** Moves the members of a draft's file to the part. */
function withoutFile(read: PreReleasePart): AnyPart {
  if (read.file === undefined) return read
  const { file, ...rest } = read
  return { ...rest, ...file }
}

/** A part in a response: servers that send all members leave unused ones empty or `null`. */
export const lenientPart: Decoder<Part> = converted(object<PreReleasePart>(preReleaseMembers), (received, faults) => {
  const read = withoutFile(received)
  if (countPresent(read, contents) === 1) return read as Part // exactly one kind of content makes it a part
  const present = contents.filter((name) => name in read)
  const filled = present.filter((name) => read[name] !== '' && read[name] !== null)
  if (filled.length > 1) return refuse(faults, `must have only one of ${filled.join(', ')}`)
  const content = filled[0] ?? present[0]
  if (content === undefined) return refuse(faults, `must have one of ${contents.join(', ')}`)
  const { text: _text, raw: _raw, url: _url, data: _data, ...rest } = read
  return { [content]: read[content], ...rest } as unknown as Part // its content and the members that all parts may have
})

export const message = object<Message>({
  messageId: required(string),
  contextId: optional(string),
  taskId: optional(string),
  role: required(enumeration(['ROLE_USER', 'ROLE_AGENT'], 'ROLE_UNSPECIFIED')),
  parts: required(array(part)),
  metadata: optional(struct),
  extensions: optional(array(string)),
  referenceTaskIds: optional(array(string)),
})

export const pushConfig = object<TaskPushNotificationConfig>({
  tenant: optional(string),
  id: optional(string),
  taskId: optional(string),
  url: required(string),
  token: optional(string),
  authentication: optional(
    object<Omit<AuthenticationInfo, 'schemes'>>({
      scheme: required(string),
      credentials: optional(string),
    }),
  ),
})

const configuration = object<SendMessageConfiguration>({
  acceptedOutputModes: optional(array(string)),
  taskPushNotificationConfig: optional(pushConfig),
  historyLength: optional(int32),
  returnImmediately: optional(boolean),
})

export const sendMessageRequest = object<SendMessageRequest>({
  tenant: optional(string),
  message: required(message),
  configuration: optional(configuration),
  metadata: optional(struct),
})
