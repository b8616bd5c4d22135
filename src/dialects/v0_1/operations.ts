/**
 * Methods of v0.1. The client chooses the task id; in the Go profile it may omit it. A config of `null` is a deletion.
 */
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  SendMessageRequest,
  SendMessageResponse,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { decodeOrThrow, object, optional, required, string, struct } from '../decode.js'
import type { OperationCodec, OperationCodecs } from '../dialect.js'
import { historyLength, sendParams, toSendRequest } from './messages.js'
import { encodePushConfig, encodeTaskPushConfig, taskPushConfig } from './push-config.js'
import { encodeTask, taskIn } from './tasks.js'
import type { WireForm } from './wire-form.js'

export const methods: ReadonlyMap<string, Operation> = new Map([
  ['tasks/send', 'sendMessage'],
  ['tasks/sendSubscribe', 'sendStreamingMessage'],
  ['tasks/get', 'getTask'],
  ['tasks/cancel', 'cancelTask'],
  ['tasks/resubscribe', 'subscribeToTask'],
  ['tasks/pushNotification/set', 'createTaskPushNotificationConfig'],
  ['tasks/pushNotification/get', 'getTaskPushNotificationConfig'],
])

const taskQuery = object<Omit<GetTaskRequest, 'tenant'>>({
  id: required(string),
  historyLength: optional(historyLength),
})
export const taskIdParams = object<Omit<CancelTaskRequest, 'tenant'>>({
  id: required(string),
  metadata: optional(struct),
})

export function createOperations(wireForm: WireForm): OperationCodecs {
  const send: OperationCodec<SendMessageRequest, SendMessageResponse> = {
    decode: (params, { newId }) => toSendRequest(decodeOrThrow(sendParams(wireForm), params), newId, wireForm),
    // This runs before the params are checked. The decoder reports an invalid id.
    traits: (params) => {
      const id = isObject(params) ? params.id : undefined
      const isMade = id === '' && wireForm.makesTaskIds
      return typeof id === 'string' && !isMade ? { wantedTaskId: id } : {}
    },
    encode: (result, params) => json(encodeTask(taskIn(result, params), wireForm, wantsHistory(params, wireForm))),
  }
  return {
    sendMessage: send,
    sendStreamingMessage: send,
    getTask: {
      decode: (params): GetTaskRequest => {
        const { id, historyLength = 0 } = decodeOrThrow(taskQuery, params)
        return { id, historyLength: wireForm.hasHistory ? historyLength : 0 }
      },
      encode: (result, params) => json(encodeTask(result, wireForm, wantsHistory(params, wireForm))),
    },
    cancelTask: {
      decode: (params): CancelTaskRequest => decodeOrThrow(taskIdParams, params),
      encode: (result) => json(encodeTask(result, wireForm, false)),
    },
    subscribeToTask: {
      decode: (params): SubscribeToTaskRequest => ({ id: decodeOrThrow(taskQuery, params).id }),
      encode: (result) => json(encodeTask(result as Task, wireForm, false)),
    },
    ...createPushOperations(wireForm.hasBarePushConfigs),
  }
}

/** `isBare`: responses have the config without the id of its task (RL-GO-4). */
export function createPushOperations(isBare: boolean): OperationCodecs {
  const encode = (config: TaskPushNotificationConfig) =>
    json(isBare ? encodePushConfig(config) : encodeTaskPushConfig(config))
  return {
    createTaskPushNotificationConfig: {
      decode: (params): TaskPushNotificationConfig => decodeOrThrow(taskPushConfig, params),
      instead: (params) => (clearsConfig(params) ? 'deleteTaskPushNotificationConfig' : undefined),
      encode,
    },
    getTaskPushNotificationConfig: {
      decode: (params): GetTaskPushNotificationConfigRequest => ({ taskId: decodeOrThrow(taskIdParams, params).id }),
      encode,
    },
    deleteTaskPushNotificationConfig: {
      decode: (params): DeleteTaskPushNotificationConfigRequest => {
        const { id } = decodeOrThrow(taskIdParams, params)
        return { taskId: id, id }
      },
      encode: (_result, params) =>
        isBare ? 'null' : json({ id: decodeOrThrow(taskIdParams, params).id, pushNotificationConfig: null }),
    },
  }
}

function clearsConfig(params: unknown): boolean {
  if (!isObject(params)) return false
  const { pushNotificationConfig = params.push_notification_config } = params
  return pushNotificationConfig === null
}

/** The service has limited the history's length; this decides whether to send history at all (RL-01-3). */
function wantsHistory(params: unknown, { hasHistory }: WireForm): boolean {
  if (!hasHistory || !isObject(params)) return false
  const { historyLength = params.history_length } = params
  return Number(historyLength) > 0
}

function json(value: object): string {
  return JSON.stringify(value)
}
