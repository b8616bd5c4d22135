/** Takes members that only older versions have out of values of the model. Everything else of the model is v1.0's JSON. */
import type { AgentCard } from '../../model/agent-card.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse, SendMessageRequest } from '../../model/service.js'
import { withSingleFlows } from '../single-flows.js'

export function ownCard(card: AgentCard): AgentCard {
  const { stateTransitionHistory: _history, ...capabilities } = card.capabilities
  return withSingleFlows({ ...card, capabilities })
}

function ownConfig(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  if (config.authentication?.schemes === undefined) return config
  const { schemes: _schemes, ...authentication } = config.authentication
  return { ...config, authentication }
}

function ownConfigs(page: ListTaskPushNotificationConfigsResponse): ListTaskPushNotificationConfigsResponse {
  return { ...page, configs: page.configs.map(ownConfig) }
}

function ownSend(request: SendMessageRequest): SendMessageRequest {
  const { configuration } = request
  const config = configuration?.taskPushNotificationConfig
  if (config?.authentication?.schemes === undefined) return request
  return { ...request, configuration: { ...configuration, taskPushNotificationConfig: ownConfig(config) } }
}

/** Values are those of their operations: the service that makes them says so, the table cannot. */
type Own = { readonly [O in Operation]?: (value: never) => unknown }

const results: Own = {
  createTaskPushNotificationConfig: ownConfig,
  getTaskPushNotificationConfig: ownConfig,
  listTaskPushNotificationConfigs: ownConfigs,
  getExtendedAgentCard: ownCard,
}

const requests: Own = {
  sendMessage: ownSend,
  sendStreamingMessage: ownSend,
  createTaskPushNotificationConfig: ownConfig,
}

export function ownResult(operation: Operation, result: unknown): unknown {
  return result === undefined ? {} : applied(results[operation], result)
}

export function ownRequest(operation: Operation, request: unknown): unknown {
  return applied(requests[operation], request ?? {})
}

function applied(own: ((value: never) => unknown) | undefined, value: unknown): unknown {
  return own ? own(value as never) : value
}
