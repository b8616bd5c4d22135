/** Push configs: one a task, called like it. */
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import { array, converted, object, optional, required, string } from '../decode.js'

interface WirePushConfig {
  readonly url: string
  readonly token?: string
  readonly authentication?: { readonly schemes: readonly string[]; readonly credentials?: string }
}

/** Without an id: it is the task's. */
export const pushConfig = converted(
  object<WirePushConfig>({
    url: required(string),
    token: optional(string),
    authentication: optional(
      object<NonNullable<WirePushConfig['authentication']>>({
        schemes: required(array(string)),
        credentials: optional(string),
      }),
    ),
  }),
  ({ url, token, authentication }): TaskPushNotificationConfig => ({
    url,
    ...(token !== undefined && { token }),
    ...(authentication && { authentication: toAuthentication(authentication) }),
  }),
)

/** With its task. */
export const taskPushConfig = converted(
  object<{ readonly id: string; readonly pushNotificationConfig: TaskPushNotificationConfig }>({
    id: required(string),
    pushNotificationConfig: required(pushConfig),
  }),
  ({ id, pushNotificationConfig }): TaskPushNotificationConfig => ({ id, taskId: id, ...pushNotificationConfig }),
)

/** One scheme survives: the first that can be served. */
function toAuthentication({ schemes, credentials }: NonNullable<WirePushConfig['authentication']>): AuthenticationInfo {
  const named = (name: string) => schemes.find((scheme) => scheme.toLowerCase() === name)
  const scheme = named('bearer') ?? named('basic') ?? (schemes[0] as string) // the list is not empty: it is required
  return { scheme, ...(credentials !== undefined && { credentials }) }
}

export function encodePushConfig({ url, token, authentication }: TaskPushNotificationConfig): object {
  return {
    url,
    token,
    authentication: authentication && {
      schemes: [authentication.scheme],
      credentials: authentication.credentials,
    },
  }
}

export function encodeTaskPushConfig(config: TaskPushNotificationConfig): object {
  return { id: config.taskId ?? config.id, pushNotificationConfig: encodePushConfig(config) }
}
