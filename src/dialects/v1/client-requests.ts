/** Requests over HTTP+JSON: what is in the path is not repeated in the body. */
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type {
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from '../../model/service.js'
import type { RestRequest, RestRequestCodec } from '../client-dialect.js'
import { get, post, remove, segment } from '../rest-request.js'

/** Below the tenant the request is for, where it names one (R-TEN-2). */
function under(tenant: string | undefined, path: string): string {
  return tenant ? `/${segment('tenant', tenant)}${path}` : path
}

function ofTask(tenant: string | undefined, id: string, action = ''): string {
  return under(tenant, `/tasks/${segment('id', id)}${action}`)
}

function configs(tenant: string | undefined, taskId: string | undefined): string {
  return under(tenant, `/tasks/${segment('taskId', taskId)}/pushNotificationConfigs`)
}

function sendTo(path: string): (request: SendMessageRequest) => RestRequest {
  return ({ tenant, ...body }) => post(under(tenant, path), body)
}

const sendMessage = sendTo('/message:send')
const sendStreamingMessage = sendTo('/message:stream')

function getTask({ tenant, id, historyLength }: GetTaskRequest): RestRequest {
  return get(ofTask(tenant, id), { historyLength })
}

function listTasks({ tenant, ...filter }: ListTasksRequest): RestRequest {
  return get(under(tenant, '/tasks'), filter)
}

function cancelTask({ tenant, id, ...body }: CancelTaskRequest): RestRequest {
  return post(ofTask(tenant, id, ':cancel'), body)
}

/** GET in the protocol file, POST in the prose and in most clients; whoever serves only one serves POST. */
function subscribeToTask({ tenant, id }: SubscribeToTaskRequest): RestRequest {
  return post(ofTask(tenant, id, ':subscribe'), {})
}

function createConfig({ tenant, taskId, ...body }: TaskPushNotificationConfig): RestRequest {
  return post(configs(tenant, taskId), body)
}

function getConfig({ tenant, taskId, id }: GetTaskPushNotificationConfigRequest): RestRequest {
  return get(`${configs(tenant, taskId)}/${segment('id', id)}`)
}

function listConfigs({ tenant, taskId, ...page }: ListTaskPushNotificationConfigsRequest): RestRequest {
  return get(configs(tenant, taskId), page)
}

function deleteConfig({ tenant, taskId, id }: DeleteTaskPushNotificationConfigRequest): RestRequest {
  return remove(`${configs(tenant, taskId)}/${segment('id', id)}`)
}

function getExtendedCard({ tenant }: GetExtendedAgentCardRequest): RestRequest {
  return get(under(tenant, '/extendedAgentCard'))
}

/** Requests are those of their operations: the service that is called says so, the table cannot. */
function of<Request extends object>(make: (request: Request) => RestRequest): RestRequestCodec['encode'] {
  return (request) => make((request ?? {}) as Request)
}

export const restRequests: Readonly<Record<Operation, RestRequestCodec['encode']>> = {
  sendMessage: of(sendMessage),
  sendStreamingMessage: of(sendStreamingMessage),
  getTask: of(getTask),
  listTasks: of(listTasks),
  cancelTask: of(cancelTask),
  subscribeToTask: of(subscribeToTask),
  createTaskPushNotificationConfig: of(createConfig),
  getTaskPushNotificationConfig: of(getConfig),
  listTaskPushNotificationConfigs: of(listConfigs),
  deleteTaskPushNotificationConfig: of(deleteConfig),
  getExtendedAgentCard: of(getExtendedCard),
}
