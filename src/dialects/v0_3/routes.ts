/** 0.3's REST routes. The parameters are `taskId` and `configId`: a webhook's body has an `id` of its own. */
import type { RestRoute } from '../dialect.js'
import { jsonOperations } from './operations.js'

const configs = '/v1/tasks/{taskId}/pushNotificationConfigs'

export const routes: readonly RestRoute[] = [
  { method: 'POST', path: '/v1/message:send', operation: 'sendMessage' },
  { method: 'POST', path: '/v1/message:stream', operation: 'sendStreamingMessage' },
  { method: 'GET', path: '/v1/tasks', operation: 'listTasks' },
  { method: 'GET', path: '/v1/tasks/{taskId}', operation: 'getTask' },
  { method: 'POST', path: '/v1/tasks/{taskId}:cancel', operation: 'cancelTask' },
  // POST in the prose, GET in the protobuf: both are served.
  { method: 'GET', path: '/v1/tasks/{taskId}:subscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: '/v1/tasks/{taskId}:subscribe', operation: 'subscribeToTask' },
  { method: 'POST', path: configs, operation: 'createTaskPushNotificationConfig' },
  // The protobuf of 0.3.0 has this path by mistake, and callers that follow it.
  { method: 'POST', path: '/v1/task/{taskId}/pushNotificationConfigs', operation: 'createTaskPushNotificationConfig' },
  { method: 'GET', path: configs, operation: 'listTaskPushNotificationConfigs' },
  { method: 'GET', path: `${configs}/{configId}`, operation: 'getTaskPushNotificationConfig' },
  { method: 'DELETE', path: `${configs}/{configId}`, operation: 'deleteTaskPushNotificationConfig' },
  { method: 'GET', path: '/v1/card', operation: 'getExtendedAgentCard' },
  // 0.2 had no method for it: a plain GET beside JSON-RPC, in its shape (RL-02-4).
  {
    method: 'GET',
    path: '/agent/authenticatedExtendedCard',
    operation: 'getExtendedAgentCard',
    codec: jsonOperations.getExtendedAgentCard,
    httpStatus: ({ code }) =>
      code === 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' || code === 'UNSUPPORTED_OPERATION' ? 404 : undefined,
  },
]
