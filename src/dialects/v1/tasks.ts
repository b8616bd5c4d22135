import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import { type TaskState, taskStates } from '../../model/task.js'
import { boolean, enumeration, int32, object, optional, required, string, struct, timestamp } from '../decode.js'

const draftStates = new Map<unknown, TaskState>([['TASK_STATE_CANCELLED', 'TASK_STATE_CANCELED']])
const taskState = enumeration(taskStates, 'TASK_STATE_UNSPECIFIED', draftStates)

export const getTaskRequest = object<GetTaskRequest>({
  tenant: optional(string),
  id: required(string),
  historyLength: optional(int32),
})

export const listTasksRequest = object<ListTasksRequest>({
  tenant: optional(string),
  contextId: optional(string),
  status: optional(taskState),
  pageSize: optional(int32),
  pageToken: optional(string),
  historyLength: optional(int32),
  statusTimestampAfter: optional(timestamp),
  includeArtifacts: optional(boolean),
})

export const cancelTaskRequest = object<CancelTaskRequest>({
  tenant: optional(string),
  id: required(string),
  metadata: optional(struct),
})

export const subscribeToTaskRequest = object<SubscribeToTaskRequest>({
  tenant: optional(string),
  id: required(string),
})

export const getPushConfigRequest = object<GetTaskPushNotificationConfigRequest>({
  tenant: optional(string),
  taskId: required(string),
  id: required(string),
})

export const listPushConfigsRequest = object<ListTaskPushNotificationConfigsRequest>({
  tenant: optional(string),
  taskId: required(string),
  pageSize: optional(int32),
  pageToken: optional(string),
})

export const deletePushConfigRequest = object<DeleteTaskPushNotificationConfigRequest>({
  tenant: optional(string),
  taskId: required(string),
  id: required(string),
})

export const getExtendedCardRequest = object<GetExtendedAgentCardRequest>({ tenant: optional(string) })
