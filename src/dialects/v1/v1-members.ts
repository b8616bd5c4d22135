/** Takes members that only older versions have out of values of the model. Everything else of the model is v1.0's JSON. */
import type { AgentCard } from '../../model/agent-card.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse, SendMessageRequest } from '../../model/service.js'
import { withSingleFlows } from '../single-flows.js'

export function toV1Card(card: AgentCard): AgentCard {
  const { stateTransitionHistory: _history, ...capabilities } = card.capabilities
  return withSingleFlows({ ...card, capabilities })
}

function toV1Config(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  if (config.authentication?.schemes === undefined) return config
  const { schemes: _schemes, ...authentication } = config.authentication
  return { ...config, authentication }
}

function toV1Configs(page: ListTaskPushNotificationConfigsResponse): ListTaskPushNotificationConfigsResponse {
  return { ...page, configs: page.configs.map(toV1Config) }
}

function toV1Send(request: SendMessageRequest): SendMessageRequest {
  const { configuration } = request
  const config = configuration?.taskPushNotificationConfig
  if (config?.authentication?.schemes === undefined) return request
  return { ...request, configuration: { ...configuration, taskPushNotificationConfig: toV1Config(config) } }
}

/** Values are those of their operations: the service that makes them says so, the table cannot. */
type Conversions = { readonly [O in Operation]?: (value: never) => unknown }

const results: Conversions = {
  createTaskPushNotificationConfig: toV1Config,
  getTaskPushNotificationConfig: toV1Config,
  listTaskPushNotificationConfigs: toV1Configs,
  getExtendedAgentCard: toV1Card,
}

const requests: Conversions = {
  sendMessage: toV1Send,
  sendStreamingMessage: toV1Send,
  createTaskPushNotificationConfig: toV1Config,
}

export function toV1Result(operation: Operation, result: unknown): unknown {
  return result === undefined ? {} : applied(results[operation], result)
}

export function toV1Request(operation: Operation, request: unknown): unknown {
  return applied(requests[operation], request ?? {})
}

function applied(convert: ((value: never) => unknown) | undefined, value: unknown): unknown {
  return convert ? convert(value as never) : value
}
