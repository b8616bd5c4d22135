/** Webhooks, both ways. The model is flat; 0.3 nests what belongs to the webhook alone. */
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import { array, converted, type Decoder, decodeOrThrow, object, optional, refuse, required, string } from '../decode.js'
import { encodeAuthentication, toAuthentication, type WireAuthentication } from '../push-authentication.js'
import type { Shape, Spelling, Wire } from './spelling.js'

/**
 * Names in 0.3's protobuf: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}`. Slashes inside
 * an id are percent-coded (RM-ID-3), and so are percent signs, or the way back would be lost.
 */

export interface ResourceName {
  readonly taskId: string
  readonly configId?: string
}

const collection = '/pushNotificationConfigs'

export function joinName(taskId: string, configId?: string): string {
  const task = `tasks/${escaped(taskId)}`
  return configId === undefined ? task : `${task}${collection}/${escaped(configId)}`
}

/** A bare id is taken for a task's; `task/` is what the protobuf's path has by mistake. */
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

/** Callers that gave a config no id of its own ask for it under this one (R3-PUSH-3). */
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

/** In answers: credentials may be kept from the reader, and so may their scheme. */
const toldAuthentication: Decoder<AuthenticationInfo> = converted(wireAuthentication, ({ schemes = [], ...rest }) =>
  toAuthentication({ schemes, ...rest }),
)

type Webhook = Pick<TaskPushNotificationConfig, 'id' | 'url' | 'token' | 'authentication'>

const webhookMembers = {
  id: optional(string),
  token: optional(string),
  authentication: optional(authentication),
}

/** What 0.3 calls a PushNotificationConfig; requests to send carry it alone. */
export const webhook = object<Webhook>({ ...webhookMembers, url: required(string) })

/** A webhook by itself or in what 0.3 calls a TaskPushNotificationConfig. */
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

/** The four bodies that REST callers create a config with, gRPC's among them (R3-PB-5). */
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

/** A config that is created or answered on its own. */
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

/** Without an id of its own a config is called like its task (R3-PUSH-2). */
function ofTask(taskId: string, { token, authentication: info, url = '' }: Partial<Webhook>, id: string | undefined) {
  return {
    id: givenId(id) ?? taskId,
    taskId,
    url,
    ...(token !== undefined && { token }),
    ...(info !== undefined && { authentication: info }),
  }
}

const toldWebhookMembers = { ...webhookMembers, url: optional(string), authentication: optional(toldAuthentication) }

interface ToldHolder extends Partial<Webhook> {
  readonly taskId?: string
  readonly name?: string
  readonly pushNotificationConfig?: Partial<Webhook>
}

/**
 * A config as peers tell of it, in either shape, or the webhook alone: which task it is of may be left to the
 * request. Its id is what the peer calls it.
 */
export const toldPushConfig: Decoder<TaskPushNotificationConfig> = converted(
  object<ToldHolder>({
    ...toldWebhookMembers,
    taskId: optional(string),
    name: optional(string),
    pushNotificationConfig: optional(object<Partial<Webhook>>(toldWebhookMembers)),
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

export function decodePushConfig(wire: unknown, { shape }: Spelling): TaskPushNotificationConfig {
  return decodeOrThrow(pushConfig[shape], wire)
}

export function encodePushConfig(config: TaskPushNotificationConfig, { shape }: Spelling): Wire {
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
