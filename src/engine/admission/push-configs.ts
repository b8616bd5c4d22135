/** Push notification configs: stored with the task, visible to its owner (R-PUSH). */
import { canParseUrl } from '../../model/can-parse-url.js'
import type { Clock } from '../../model/clock.js'
import { A2AError, clip, invalidField, limitMetadata } from '../../model/errors.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import {
  type CallContext,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  nativeDialect,
} from '../../model/service.js'
import { traceContextOf } from '../../model/trace-context.js'
import type { DeliveryStore, NewPushConfig, StoredPushConfig, TaskKey } from '../../stores/store.js'
import { taskNotFound } from '../access.js'
import type { Agent } from '../agent.js'
import type { TaskReader } from '../following/task-reader.js'
import { assertId, maxIdLength } from '../limits.js'
import { assertPush } from '../message-checks.js'
import type { PushSecrets } from '../settings.js'

/** Rejects with a message for the caller when the server must not call a webhook's URL. */
export type CheckWebhook = (url: string) => Promise<void>

interface PushConfigDeps {
  readonly agent: Agent
  readonly deliveries: Pick<DeliveryStore, 'putConfig' | 'getConfig' | 'listConfigs' | 'deleteConfig'>
  readonly clock: Pick<Clock, 'newId'>
  readonly reader: TaskReader
  readonly checkWebhook: CheckWebhook | undefined
  readonly pushSecrets: PushSecrets
  readonly maxConfigsPerTask: number
}

const maxPageSize = 100

export class PushConfigs {
  readonly #deps: PushConfigDeps

  constructor(deps: PushConfigDeps) {
    this.#deps = deps
  }

  async create(request: TaskPushNotificationConfig, context: CallContext): Promise<TaskPushNotificationConfig> {
    assertWebhook(request)
    assertPush(this.#deps.agent)
    const key = await this.#ownTask(request.taskId ?? '', context)
    await this.assertReachable(request.url, 'url')
    const made = this.newConfig(request, key.id, context)
    const outcome = await this.#deps.deliveries.putConfig(key, made)
    if (outcome === 'no-task') throw taskNotFound(key.id)
    if (outcome === 'full') throw tooManyWebhooks(key, made.maxConfigs)
    return made.config
  }

  async get(request: GetTaskPushNotificationConfigRequest, context: CallContext): Promise<TaskPushNotificationConfig> {
    assertPush(this.#deps.agent)
    const key = await this.#ownTask(request.taskId, context)
    const found = await this.#find(key, request.id)
    if (!found) throw configNotFound(request)
    return this.#visibleTo(found, context)
  }

  async list(
    request: ListTaskPushNotificationConfigsRequest,
    context: CallContext,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    // Some bindings send 0 for an absent number.
    const pageSize = request.pageSize || maxPageSize
    if (pageSize < 0 || pageSize > maxPageSize) throw invalidField('pageSize', `must be from 1 to ${maxPageSize}`)
    assertPush(this.#deps.agent)
    const key = await this.#ownTask(request.taskId, context)
    const afterId = request.pageToken ? Buffer.from(request.pageToken, 'base64url').toString('utf8') : undefined
    const found = await this.#deps.deliveries.listConfigs(key, {
      limit: pageSize + 1,
      ...(afterId !== undefined && { afterId }),
    })
    const configs = found.slice(0, pageSize).map((each) => this.#visibleTo(each, context))
    const last = found.length > pageSize ? configs.at(-1) : undefined
    return { configs, nextPageToken: last ? Buffer.from(last.id).toString('base64url') : '' }
  }

  async delete(request: DeleteTaskPushNotificationConfigRequest, context: CallContext): Promise<void> {
    assertPush(this.#deps.agent)
    const key = await this.#ownTask(request.taskId, context)
    await this.#deps.deliveries.deleteConfig(key, request.id)
  }

  /** Checks whether the server may call a URL: an attacker may have chosen it (R-PDEL-6). */
  async assertReachable(url: string, field: string): Promise<void> {
    try {
      await this.#deps.checkWebhook?.(url)
    } catch (error) {
      throw error instanceof A2AError ? error : invalidField(field, error instanceof Error ? error.message : 'refused')
    }
  }

  /** Refuses a config before anything is written. The store checks again when it writes. */
  async assertRoom(key: TaskKey, added: NewPushConfig): Promise<void> {
    const { maxConfigs } = added
    const configs = await this.#deps.deliveries.listConfigs(key, { limit: maxConfigs })
    const isReplaced = configs.some(({ config }) => config.id === added.config.id)
    if (configs.length >= maxConfigs && !isReplaced) throw tooManyWebhooks(key, maxConfigs)
  }

  /** The config as it is stored. */
  newConfig(
    { tenant: _tenant, ...given }: TaskPushNotificationConfig,
    taskId: string,
    context: CallContext,
  ): NewPushConfig {
    // In dialects with one config per task, it has the id of the task (R3-PUSH-2).
    const defaultId = () => (context.hasOnePushConfig ? taskId : this.#deps.clock.newId())
    return {
      config: { ...given, taskId, id: given.id || defaultId() },
      dialect: context.dialect ?? nativeDialect,
      setBy: context.caller.id,
      ...traceContextOf(context),
      maxConfigs: this.#deps.maxConfigsPerTask,
    }
  }

  /** Without an id: the config with the id of the task, or the first one (R3-PUSH-3). */
  async #find(key: TaskKey, id: string | undefined): Promise<StoredPushConfig | undefined> {
    const { deliveries } = this.#deps
    const named = await deliveries.getConfig(key, id ?? key.id)
    if (named || id !== undefined) return named
    const [first] = await deliveries.listConfigs(key, { limit: 1 })
    return first
  }

  async #ownTask(taskId: string, context: CallContext): Promise<TaskKey> {
    if (!(await this.#deps.reader.visibleTask(taskId, context))) throw taskNotFound(taskId)
    return { agent: this.#deps.agent.card.name, id: taskId }
  }

  /** The config without the secrets that the caller may not see (R-PUSH-9). */
  #visibleTo({ config, setBy }: StoredPushConfig, { caller }: CallContext): StoredPushConfig['config'] {
    const { pushSecrets } = this.#deps
    if (pushSecrets === 'owner') return config
    if (pushSecrets === 'creator' && (setBy === undefined || setBy === caller.id)) return config
    const { token: _token, authentication, ...rest } = config
    if (!authentication) return rest
    const { credentials: _credentials, ...schemes } = authentication
    return { ...rest, authentication: schemes }
  }
}

/** The code of a missing task (R-PUSH-5), with a text that names the config. */
function configNotFound({ taskId, id }: GetTaskPushNotificationConfigRequest): A2AError {
  const text =
    id === undefined ? 'Push notification config not found' : `Push notification config not found: ${clip(id)}`
  return new A2AError('TASK_NOT_FOUND', text, {
    metadata: { taskId: clip(taskId), ...(id !== undefined && { configId: clip(id) }) },
  })
}

function tooManyWebhooks({ id }: TaskKey, max: number): A2AError {
  const text = `Task ${id} has too many webhooks (limit pushConfigsPerTask: ${max}); delete one`
  return new A2AError('UNSUPPORTED_OPERATION', text, {
    metadata: { taskId: id, ...limitMetadata({ limit: 'pushConfigsPerTask', max }) },
  })
}

const maxUrlLength = 4096
const maxSecretLength = 8192
const maxSchemes = 16

/** Checks the fields of a config. All of them become part of a request, so none may contain control characters. */
export function assertWebhook({ id, url, token, authentication }: TaskPushNotificationConfig, prefix = ''): void {
  assertId(id, `${prefix}id`)
  // `URL` drops line breaks and tabs without an error.
  if (/[\0-\x20\x7f]/.test(url)) throw invalidField(`${prefix}url`, 'must not contain blanks or control characters')
  if (url.length > maxUrlLength)
    throw invalidField(`${prefix}url`, `must not be longer than ${maxUrlLength} characters`)
  const protocol = canParseUrl(url) ? new URL(url).protocol : ''
  if (protocol !== 'https:' && protocol !== 'http:')
    throw invalidField(`${prefix}url`, 'must be an absolute http or https URL')
  assertHeaderValue(token, `${prefix}token`)
  if (!authentication) return
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(authentication.scheme))
    throw invalidField(`${prefix}authentication.scheme`, 'must be the name of an HTTP authentication scheme')
  if (authentication.scheme.length > maxIdLength)
    throw invalidField(`${prefix}authentication.scheme`, `must not be longer than ${maxIdLength} characters`)
  assertSchemes(authentication.schemes ?? [], `${prefix}authentication.schemes`)
  assertHeaderValue(authentication.credentials, `${prefix}authentication.credentials`)
}

/** Further schemes are stored and not used. */
function assertSchemes(schemes: readonly string[], field: string): void {
  if (schemes.length > maxSchemes) throw invalidField(field, `must not have more than ${maxSchemes} entries`)
  if (schemes.some((scheme) => scheme.length > maxIdLength || !/^[\x20-\x7e]*$/.test(scheme)))
    throw invalidField(field, `must be printable ASCII of at most ${maxIdLength} characters each`)
}

function assertHeaderValue(value: string | undefined, field: string): void {
  if (value === undefined) return
  if (!/^[\x20-\x7e]*$/.test(value)) throw invalidField(field, 'must be printable ASCII')
  if (value.length > maxSecretLength) throw invalidField(field, `must not be longer than ${maxSecretLength} characters`)
}
