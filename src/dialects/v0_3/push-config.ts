/** Encoding and decoding of push configs. The model is flat; 0.3 nests the members of the webhook. */
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import { array, converted, type Decoder, decodeOrThrow, object, optional, refuse, required, string } from '../decode.js'
import { encodeAuthentication, toAuthentication, type WireAuthentication } from '../push-authentication.js'
import type { Shape, Wire, WireForm } from './wire-form.js'

/**
 * Resource names in 0.3's protobuf: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`. Slashes and percent
 * signs inside an id are percent-encoded, so that the name can be parsed (RM-ID-3).
 */

interface ResourceName {
  readonly taskId: string
  readonly configId?: string
}

const collection = '/pushNotificationConfigs'

export function joinName(taskId: string, configId?: string): string {
  const task = `tasks/${escaped(taskId)}`
  return configId === undefined ? task : `${task}${collection}/${escaped(configId)}`
}

/** A bare id is a task id. `task/` is in the protobuf's path by mistake. */
export function splitName(name: string): ResourceName | undefined {
  const prefix = ['tasks/', 'task/'].find((each) => name.startsWith(each)) ?? ''
  const [task = '', ...configs] = name.slice(prefix.length).split(collection)
  if (task === '' || configs.length > 1 || (prefix === '' && task.includes('/'))) return undefined
  const config = configs[0] ?? ''
  if (config !== '' && !config.startsWith('/')) return undefined
  const taskId = unescaped(task)
  return config.length > 1 ? { taskId, configId: unescaped(config.slice(1)) } : { taskId }
}

function escaped(id: string): string {
  return id.replaceAll('%', '%25').replaceAll('/', '%2F')
}

function unescaped(id: string): string {
  return id.replace(/%2F/gi, '/').replaceAll('%25', '%')
}

/** Id under which clients read a config that they created without an id (R3-PUSH-3). */
const unnamed = 'default'

export function givenId(id: string | undefined): string | undefined {
  return id === unnamed ? undefined : id
}

const wireAuthentication = object<Partial<WireAuthentication>>({
  schemes: optional(array(string)),
  credentials: optional(string),
})

const authentication: Decoder<AuthenticationInfo> = converted(
  wireAuthentication,
  ({ schemes = [], ...rest }, faults) => {
    if (schemes.length === 0 && rest.credentials !== undefined) return refuse(faults, 'must not be empty', 'schemes')
    return toAuthentication({ schemes, ...rest })
  },
)

/** In responses: servers may omit the credentials and their scheme. */
const lenientAuthentication: Decoder<AuthenticationInfo> = converted(wireAuthentication, ({ schemes = [], ...rest }) =>
  toAuthentication({ schemes, ...rest }),
)

type Webhook = Pick<TaskPushNotificationConfig, 'id' | 'url' | 'token' | 'authentication'>

const webhookMembers = {
  id: optional(string),
  token: optional(string),
  authentication: optional(authentication),
}

/** A PushNotificationConfig of 0.3; send requests contain it without a task. */
export const webhook = object<Webhook>({ ...webhookMembers, url: required(string) })

/** A webhook alone or inside a TaskPushNotificationConfig of 0.3. */
interface Holder extends Partial<Webhook> {
  readonly taskId?: string
  readonly name?: string
  readonly pushNotificationConfig?: Webhook
}

const holderMembers = {
  ...webhookMembers,
  url: optional(string),
  taskId: optional(string),
  name: optional(string),
  pushNotificationConfig: optional(webhook),
}

/** The four request bodies that create a config over REST; gRPC has one of them (R3-PB-5). */
interface CreateBody extends Holder {
  readonly parent?: string
  readonly configId?: string
  readonly config?: Holder
}

const createBody = object<CreateBody>({
  ...holderMembers,
  parent: optional(string),
  configId: optional(string),
  config: optional(object<Holder>(holderMembers)),
})

/** A config in a create request or in a response. */
export const pushConfig: Readonly<Record<Shape, Decoder<TaskPushNotificationConfig>>> = {
  json: converted(
    object<{ readonly taskId: string; readonly pushNotificationConfig: Webhook }>({
      taskId: required(string),
      pushNotificationConfig: required(webhook),
    }),
    ({ taskId, pushNotificationConfig }) => ofTask(taskId, pushNotificationConfig, pushNotificationConfig.id),
  ),
  proto: converted(createBody, (body, faults) => {
    const holder = body.config ?? body
    const name = splitName(holder.name ?? '')
    const taskId = body.taskId ?? splitName(body.parent ?? '')?.taskId ?? name?.taskId ?? holder.taskId
    const hook = holder.pushNotificationConfig ?? holder
    if (taskId === undefined) return refuse(faults, 'is required', 'parent')
    if (hook.url === undefined) return refuse(faults, 'is required', 'config.pushNotificationConfig')
    return ofTask(taskId, hook, body.configId ?? hook.id ?? name?.configId)
  }),
}

/** A config without an id gets the id of its task (R3-PUSH-2). */
function ofTask(taskId: string, { token, authentication: info, url = '' }: Partial<Webhook>, id: string | undefined) {
  return {
    id: givenId(id) ?? taskId,
    taskId,
    url,
    ...(token !== undefined && { token }),
    ...(info !== undefined && { authentication: info }),
  }
}

const lenientWebhookMembers = {
  ...webhookMembers,
  url: optional(string),
  authentication: optional(lenientAuthentication),
}

interface LenientHolder extends Partial<Webhook> {
  readonly taskId?: string
  readonly name?: string
  readonly pushNotificationConfig?: Partial<Webhook>
}

/**
 * A config in a response, in either shape, or the webhook alone; then the request names the task. The id is the peer's.
 */
export const lenientPushConfig: Decoder<TaskPushNotificationConfig> = converted(
  object<LenientHolder>({
    ...lenientWebhookMembers,
    taskId: optional(string),
    name: optional(string),
    pushNotificationConfig: optional(object<Partial<Webhook>>(lenientWebhookMembers)),
  }),
  (holder, faults) => {
    const { id, url, token, authentication: info } = holder.pushNotificationConfig ?? holder
    if (url === undefined) return refuse(faults, 'is required', 'pushNotificationConfig.url')
    const name = splitName(holder.name ?? '')
    const taskId = holder.taskId ?? name?.taskId
    const configId = id ?? name?.configId
    return {
      ...(configId !== undefined && { id: configId }),
      ...(taskId !== undefined && { taskId }),
      url,
      ...(token !== undefined && { token }),
      ...(info && { authentication: info }),
    }
  },
)

export function decodePushConfig(wire: unknown, { shape }: WireForm): TaskPushNotificationConfig {
  return decodeOrThrow(pushConfig[shape], wire)
}

export function encodePushConfig(config: TaskPushNotificationConfig, { shape }: WireForm): Wire {
  const { taskId = '', id } = config
  const pushNotificationConfig = encodeWebhook(config)
  return shape === 'json'
    ? { taskId, pushNotificationConfig }
    : { name: joinName(taskId, id ?? taskId), pushNotificationConfig }
}

export function encodeWebhook({ id, url, token, authentication: info }: Webhook): Wire {
  const wire: Wire = id === undefined ? { url } : { id, url }
  if (token !== undefined) wire.token = token
  if (info) wire.authentication = encodeAuthentication(info)
  return wire
}
