/** Push configs: one per task, with the task's id. */
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import { array, converted, object, optional, required, string } from '../decode.js'
import { encodeAuthentication, toAuthentication, type WireAuthentication } from '../push-authentication.js'

interface WirePushConfig {
  readonly url: string
  readonly token?: string
  readonly authentication?: WireAuthentication
}

/** A config without an id: it has the task's id. */
export const pushConfig = converted(
  object<WirePushConfig>({
    url: required(string),
    token: optional(string),
    authentication: optional(
      object<WireAuthentication>({ schemes: required(array(string)), credentials: optional(string) }),
    ),
  }),
  ({ url, token, authentication }): TaskPushNotificationConfig => {
    const info = authentication && toAuthentication(authentication)
    return { url, ...(token !== undefined && { token }), ...(info && { authentication: info }) }
  },
)

/** A config with the id of its task. */
export const taskPushConfig = converted(
  object<{ readonly id: string; readonly pushNotificationConfig: TaskPushNotificationConfig }>({
    id: required(string),
    pushNotificationConfig: required(pushConfig),
  }),
  ({ id, pushNotificationConfig }): TaskPushNotificationConfig => ({ id, taskId: id, ...pushNotificationConfig }),
)

export function encodePushConfig({ url, token, authentication }: TaskPushNotificationConfig): object {
  return {
    url,
    token,
    authentication: authentication && encodeAuthentication(authentication),
  }
}

export function encodeTaskPushConfig(config: TaskPushNotificationConfig): object {
  return { id: config.taskId ?? config.id, pushNotificationConfig: encodePushConfig(config) }
}
