/**
 * 0.3 has two shapes for its objects: JSON-RPC has `kind` members and lower-case enums; REST and gRPC have the
 * protobuf's shape. REST uses the JSON names of the protobuf, gRPC its field names. Decoders accept both enum forms in
 * every shape.
 */

import type { Role } from '../../model/message.js'
import type { Struct } from '../../model/part.js'
import { type TaskState, taskStates } from '../../model/task.js'
import type { Decoder } from '../decode.js'
import type { FileEncoding } from '../quirks.js'

export { role, taskState } from '../state-and-role.js'

/** An object on the wire, under construction. */
export type Wire = Record<string, unknown>

export type Shape = 'json' | 'proto'

/** Form of parts: JSON-RPC's, or the protobuf's with an encoding of file content (R3-PB-12). */
export type PartForm = 'json' | FileEncoding

export interface WireForm {
  readonly shape: Shape
  readonly partForm: PartForm
  readonly states: Readonly<Record<TaskState, string>>
  readonly roles: Readonly<Record<Role, string>>
  /** Whether a message has the protobuf's field names: `update` in a status, `request` in a send, `msg` in a response. */
  readonly hasFieldNames: boolean
  /** The webhook in a send request. */
  readonly pushConfig: string
  readonly fileBytesKey: string
  readonly fileUriKey: string
}

const lowerCaseStates = {
  TASK_STATE_SUBMITTED: 'submitted',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
} as const satisfies Record<TaskState, string>

const protoStates = {
  ...(Object.fromEntries(taskStates.map((state) => [state, state])) as Record<TaskState, string>),
  TASK_STATE_CANCELED: 'TASK_STATE_CANCELLED',
}

/** JSON-RPC. */
export const jsonForm: WireForm = {
  shape: 'json',
  partForm: 'json',
  states: lowerCaseStates,
  roles: { ROLE_USER: 'user', ROLE_AGENT: 'agent' },
  hasFieldNames: false,
  pushConfig: 'pushNotificationConfig',
  fileBytesKey: 'bytes',
  fileUriKey: 'uri',
}

/** REST. */
export const protoJsonForm: WireForm = {
  shape: 'proto',
  partForm: 'guessed',
  states: protoStates,
  roles: { ROLE_USER: 'ROLE_USER', ROLE_AGENT: 'ROLE_AGENT' },
  hasFieldNames: false,
  pushConfig: 'pushNotification',
  fileBytesKey: 'fileWithBytes',
  fileUriKey: 'fileWithUri',
}

/** gRPC: members have the protobuf's names, which differ from its JSON names in three places. */
export const protoForm: WireForm = {
  ...protoJsonForm,
  hasFieldNames: true,
}

/** One decoder for each shape, made once. */
export function inBothShapes<T>(make: (shape: Shape) => Decoder<T>): Readonly<Record<Shape, Decoder<T>>> {
  return { json: make('json'), proto: make('proto') }
}

/** One value for each form of parts, made once. */
export function inEveryPartForm<T>(make: (partForm: PartForm, shape: Shape) => T): Readonly<Record<PartForm, T>> {
  return { json: make('json', 'json'), ...inEveryFileEncoding((form) => make(form, 'proto')) }
}

/** The protobuf's wire forms, one for each encoding of file content. */
export const restForms = inEveryFileEncoding((partForm): WireForm => ({ ...protoJsonForm, partForm }))
export const grpcForms = inEveryFileEncoding((partForm): WireForm => ({ ...protoForm, partForm }))

function inEveryFileEncoding<T>(make: (form: FileEncoding) => T): Readonly<Record<FileEncoding, T>> {
  return { raw: make('raw'), base64: make('base64'), guessed: make('guessed') }
}

export const exampleMessage = { kind: 'message', messageId: '1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }

export const reserved = {
  mediaType: 'a2aMediaType',
  filename: 'a2aFilename',
  referenceTaskIds: 'a2aReferenceTaskIds',
  /** The flag that other SDKs use (RM-PART-1). */
  wrappedData: 'data_part_compat',
} as const

/** The metadata without these keys; undefined if nothing remains. */
export function withoutKeys(metadata: Struct, keys: readonly string[]): Struct | undefined {
  const rest = Object.entries(metadata).filter(([key]) => !keys.includes(key))
  return rest.length > 0 ? Object.fromEntries(rest) : undefined
}
