/** Random model values, without the members that 0.3 is known to lose. */
import fc from 'fast-check'
import type { Artifact } from '../../model/artifact.js'
import type { StreamResponse } from '../../model/event.js'
import type { Message } from '../../model/message.js'
import type { JsonValue, Part, Struct } from '../../model/part.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { SendMessageRequest } from '../../model/service.js'
import { type Task, type TaskStatus, taskStates } from '../../model/task.js'

export const filled = fc.string({ minLength: 1, maxLength: 12 })
/** The value after a JSON round trip. */
export const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
/**
 * JSON that decoders accept. They refuse one name, and the generator's objects differ slightly from those of
 * `JSON.parse`.
 */
const json = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value) => overTheWire(value) as JsonValue)
const isFree = (key: string) => !key.startsWith('a2a') && key !== 'data_part_compat' && key !== '__proto__'
const key = fc.string({ maxLength: 8 }).filter(isFree)
export const struct = fc.dictionary(key, json, { minKeys: 1, maxKeys: 3 }).map((value) => overTheWire(value) as Struct)
export const base64 = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'))
export const time = fc
  .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

export function exact<T>(
  model: { [K in keyof T]-?: fc.Arbitrary<T[K]> },
  required: (keyof T & string)[],
): fc.Arbitrary<T> {
  return fc.record(model, { requiredKeys: required, noNullPrototype: true }) as fc.Arbitrary<T>
}

const common = { metadata: struct, filename: filled, mediaType: filled }
const part = fc.oneof(
  exact({ text: fc.string(), ...common }, ['text']),
  exact({ raw: base64, ...common }, ['raw']),
  exact({ url: fc.webUrl(), ...common }, ['url']),
  exact({ data: json, ...common }, ['data']),
) as fc.Arbitrary<Part>
const parts = fc.array(part, { minLength: 1, maxLength: 4 })
export const message: fc.Arbitrary<Message> = exact<Required<Message>>(
  {
    messageId: filled,
    contextId: filled,
    taskId: filled,
    role: fc.constantFrom('ROLE_USER', 'ROLE_AGENT'),
    parts,
    metadata: struct,
    extensions: fc.array(filled, { minLength: 1, maxLength: 2 }),
    referenceTaskIds: fc.array(filled, { minLength: 1, maxLength: 2 }),
  },
  ['messageId', 'role', 'parts'],
)
const artifact: fc.Arbitrary<Artifact> = exact<Required<Artifact>>(
  {
    artifactId: filled,
    name: filled,
    description: filled,
    parts: fc.array(part, { maxLength: 3 }),
    metadata: struct,
    extensions: fc.array(filled, { minLength: 1, maxLength: 2 }),
  },
  ['artifactId', 'parts'],
)
export const status: fc.Arbitrary<TaskStatus> = exact<Required<TaskStatus>>(
  { state: fc.constantFrom(...taskStates), message, timestamp: time },
  ['state'],
)
export const task: fc.Arbitrary<Task> = exact<Required<Task>>(
  {
    id: filled,
    contextId: filled,
    status,
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    history: fc.array(message, { minLength: 1, maxLength: 2 }),
    metadata: struct,
  },
  ['id', 'contextId', 'status'],
)
export const ofTask = { taskId: filled, contextId: filled, metadata: struct }
const statusUpdate = exact({ ...ofTask, status }, ['taskId', 'contextId', 'status'])
const artifactUpdate = exact({ ...ofTask, artifact, append: fc.boolean(), lastChunk: fc.boolean() }, [
  'taskId',
  'contextId',
  'artifact',
])
export const event = fc.oneof(
  exact({ task }, ['task']),
  exact({ message }, ['message']),
  exact({ statusUpdate }, ['statusUpdate']),
  exact({ artifactUpdate }, ['artifactUpdate']),
) as fc.Arbitrary<StreamResponse>
const webhook = {
  id: filled.filter((id) => id !== 'default'),
  url: fc.webUrl(),
  token: filled,
  authentication: exact({ scheme: filled, credentials: filled }, ['scheme']),
}
export const pushConfig = exact({ ...webhook, taskId: filled }, [
  'id',
  'taskId',
  'url',
]) as fc.Arbitrary<TaskPushNotificationConfig>
export const sendRequest = exact(
  {
    message,
    configuration: exact(
      {
        acceptedOutputModes: fc.array(filled, { minLength: 1, maxLength: 2 }),
        historyLength: fc.integer({ min: 1, max: 99 }),
        returnImmediately: fc.boolean(),
        taskPushNotificationConfig: exact(webhook, ['url']),
      },
      ['returnImmediately'],
    ),
    metadata: struct,
  },
  ['message'],
) as fc.Arbitrary<SendMessageRequest>
