/** Random values: JSON of any shape, and valid requests of every method. */
import fc from 'fast-check'
import type { Peer } from './peer.js'

/** Text that UTF-8 can carry, in full Unicode. */
export const wellFormedText = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.lorem())
  .map((text) => Buffer.from(text).toString())

/** Servers reject `__proto__` in open objects, and JavaScript cannot copy it as an ordinary member. */
const name = fc
  .oneof(fc.constantFrom('constructor', 'prototype', 'toString', 'snake_case', 'camelCase', ''), wellFormedText)
  .filter((text) => text !== '__proto__')

const { value, object } = fc.letrec<{ value: unknown; object: Record<string, unknown>; array: unknown[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, '', -1),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0), // -0 is 0 in JSON
    fc.integer(),
    wellFormedText,
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true }),
}))

export function jsonValue(): fc.Arbitrary<unknown> {
  return value
}

export function jsonObject(): fc.Arbitrary<Record<string, unknown>> {
  return object
}

const base64 = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const nonEmpty = wellFormedText.filter((text) => text !== '')

const content: fc.Arbitrary<object> = fc.oneof(
  fc.record({ text: wellFormedText }),
  fc.record({ raw: base64 }),
  fc.record({ url: fc.oneof(fc.webUrl(), wellFormedText) }),
  fc.record({ data: fc.oneof(fc.constant(null), value, fc.array(value)) }),
)

const part = fc
  .tuple(content, fc.record({ metadata: object, filename: nonEmpty, mediaType: nonEmpty }, { requiredKeys: [] }))
  .map(([kind, more]) => ({ ...kind, ...more }))

/** Any message that starts a task, without the commands of the test-bed agent. */
export const validMessage = fc.record(
  {
    messageId: nonEmpty,
    role: fc.constantFrom('ROLE_USER', 'ROLE_AGENT'),
    // No command of the test-bed agent begins with a quote.
    parts: fc.array(part, { maxLength: 6 }).map((parts) => [{ text: '"' }, ...parts]),
    metadata: object,
    extensions: fc.array(nonEmpty, { minLength: 1, maxLength: 3 }),
    referenceTaskIds: fc.array(nonEmpty, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)

export interface ValidRequest {
  readonly method: string
  readonly params: Record<string, unknown>
  /** The HTTP+JSON path that takes the same body. */
  readonly path?: string
}

/** A request of every method with all members, for a task that has ended. */
export async function validRequests(peer: Peer): Promise<readonly ValidRequest[]> {
  const params = {
    message: {
      messageId: 'message',
      contextId: 'context',
      role: 'ROLE_USER',
      parts: [
        { text: '"hello', metadata: { a: [1, { b: null }] }, filename: 'a.txt', mediaType: 'text/plain' },
        { raw: 'aGVsbG8=', mediaType: 'application/octet-stream' },
        { url: 'https://x.example/y' },
        { data: { list: [1, 'two', null, { three: 3 }] } },
      ],
      metadata: { trace_id: 'x', nested: { deep: [true] } },
      extensions: ['urn:one', 'urn:two'],
      referenceTaskIds: ['other'],
    },
    configuration: {
      acceptedOutputModes: ['text/plain'],
      historyLength: 5,
      returnImmediately: false,
      taskPushNotificationConfig: {
        id: 'hook',
        url: 'https://x.example/hook',
        token: 't',
        authentication: { scheme: 'Bearer', credentials: 'c' },
      },
    },
    metadata: { some_name: 1 },
  }
  const { result } = await peer.call('SendMessage', params)
  const { id } = (result as { task: { id: string } }).task
  return [
    { method: 'SendMessage', params, path: '/message:send' },
    { method: 'SendStreamingMessage', params, path: '/message:stream' },
    { method: 'GetTask', params: { id, historyLength: 3 } },
    {
      method: 'ListTasks',
      params: {
        contextId: 'context',
        status: 'TASK_STATE_COMPLETED',
        pageSize: 2,
        historyLength: 1,
        statusTimestampAfter: '2020-01-01T00:00:00Z',
        includeArtifacts: true,
      },
    },
    { method: 'CancelTask', params: { id, metadata: { why: 'because' } }, path: `/tasks/${id}:cancel` },
    { method: 'SubscribeToTask', params: { id }, path: `/tasks/${id}:subscribe` },
    {
      method: 'CreateTaskPushNotificationConfig',
      params: { taskId: id, id: 'hook', url: 'https://x.example', token: 't', authentication: { scheme: 'Bearer' } },
      path: `/tasks/${id}/pushNotificationConfigs`,
    },
    { method: 'GetTaskPushNotificationConfig', params: { taskId: id, id: 'hook' } },
    { method: 'ListTaskPushNotificationConfigs', params: { taskId: id, pageSize: 5 } },
    { method: 'DeleteTaskPushNotificationConfig', params: { taskId: id, id: 'no such hook' } },
    { method: 'GetExtendedAgentCard', params: {} },
  ]
}
