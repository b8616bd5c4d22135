/**
 * Requests that name a task, in each shape. `messages.ts` has send requests, `push-config.ts` the creation of webhooks.
 */
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
} from '../../model/service.js'
import {
  boolean,
  converted,
  type Decoder,
  type Fault,
  int32,
  object,
  optional,
  refuse,
  string,
  struct,
  utcTimestamp,
} from '../decode.js'
import { historyLength } from './messages.js'
import { givenId, splitName } from './push-config.js'
import { inBothShapes, type Shape, taskState } from './wire-form.js'

/**
 * All members that identify a task. JSON-RPC has `id`; gRPC has `name` or `parent`; REST has the route parameters
 * `taskId` and `configId`, which override the body.
 */
interface Target {
  readonly id?: string
  readonly pushNotificationConfigId?: string
  readonly taskId?: string
  readonly configId?: string
  readonly name?: string
}

const targetMembers = {
  id: optional(string),
  pushNotificationConfigId: optional(string),
  taskId: optional(string),
  configId: optional(string),
  name: optional(string),
}
const targetAliases = { name: ['parent'] }

interface Meant {
  readonly taskId: string
  readonly configId?: string | undefined
}

const meant: Readonly<Record<Shape, (target: Target, faults: Fault[]) => Meant | undefined>> = {
  json: ({ id, pushNotificationConfigId: configId }, faults) =>
    id === undefined ? refuse(faults, 'is required', 'id') : { taskId: id, configId },
  proto: ({ taskId, configId, name, id, pushNotificationConfigId }, faults) => {
    if (taskId !== undefined) return { taskId, configId }
    if (name !== undefined)
      return splitName(name) ?? refuse(faults, 'must be the name of a resource, such as tasks/{id}', 'name')
    return id === undefined ? refuse(faults, 'is required', 'name') : { taskId: id, configId: pushNotificationConfigId }
  },
}

function ofTask<T>(shape: Shape, convert: (target: Meant, faults: Fault[]) => T | undefined): Decoder<T> {
  return converted(object<Target>(targetMembers, { aliases: targetAliases }), (target, faults) => {
    const found = meant[shape](target, faults)
    return found && convert(found, faults)
  })
}

/** Combines the members that name the task with further members. */
function beside<T extends object, M extends object>(target: Decoder<T>, members: Decoder<M>): Decoder<T & M> {
  return (value, faults) => {
    const read = target(value, faults)
    const more = read && members(value, faults)
    return more && { ...more, ...read }
  }
}

const taskOnly = inBothShapes((shape) => ofTask(shape, ({ taskId }) => ({ id: taskId })))

export const getTaskRequest: Readonly<Record<Shape, Decoder<GetTaskRequest>>> = inBothShapes((shape) =>
  beside(
    taskOnly[shape],
    object<Pick<GetTaskRequest, 'historyLength'>>({ historyLength: optional(historyLength[shape]) }),
  ),
)

export const cancelTaskRequest: Readonly<Record<Shape, Decoder<CancelTaskRequest>>> = inBothShapes((shape) =>
  beside(taskOnly[shape], object<Pick<CancelTaskRequest, 'metadata'>>({ metadata: optional(struct) })),
)

export const subscribeToTaskRequest = taskOnly

/**
 * A request without an id, or with the literal `default`, means the webhook that was created without an id (R3-PUSH-3).
 */
export const getPushConfigRequest: Readonly<Record<Shape, Decoder<GetTaskPushNotificationConfigRequest>>> =
  inBothShapes((shape) =>
    ofTask(shape, ({ taskId, configId }) => {
      const id = givenId(configId)
      return id === undefined ? { taskId } : { taskId, id }
    }),
  )

export const listPushConfigsRequest: Readonly<Record<Shape, Decoder<ListTaskPushNotificationConfigsRequest>>> = {
  json: ofTask('json', ({ taskId }) => ({ taskId })),
  proto: beside(
    ofTask('proto', ({ taskId }) => ({ taskId })),
    object<Pick<ListTaskPushNotificationConfigsRequest, 'pageSize' | 'pageToken'>>({
      pageSize: optional(int32),
      pageToken: optional(string),
    }),
  ),
}

export const deletePushConfigRequest: Readonly<Record<Shape, Decoder<DeleteTaskPushNotificationConfigRequest>>> =
  inBothShapes((shape) =>
    ofTask(shape, ({ taskId, configId }, faults) =>
      configId === undefined
        ? refuse(faults, 'is required', shape === 'json' ? 'pushNotificationConfigId' : 'name')
        : { taskId, id: givenId(configId) ?? taskId },
    ),
  )

const latest = Date.UTC(9999, 11, 31)

/** Epoch milliseconds in the first drafts of `tasks/list`, ISO 8601 in later ones. */
const instant: Decoder<string> = (value, faults) => {
  const time = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  if (typeof time !== 'number') return utcTimestamp(time, faults)
  const isTime = Number.isInteger(time) && time >= 0 && time <= latest
  return isTime ? new Date(time).toISOString() : refuse(faults, 'must be a time in milliseconds since 1970')
}

/** In the drafts, history is omitted unless requested. */
export const listTasksRequest: Decoder<ListTasksRequest> = converted(
  object<Omit<ListTasksRequest, 'tenant'>>(
    {
      contextId: optional(string),
      status: optional(taskState),
      pageSize: optional(int32),
      pageToken: optional(string),
      historyLength: optional(int32),
      statusTimestampAfter: optional(instant),
      includeArtifacts: optional(boolean),
    },
    { aliases: { statusTimestampAfter: ['lastUpdatedAfter'] } },
  ),
  (request) => (request.historyLength === undefined ? { ...request, historyLength: 0 } : request),
)
