/** Push notification configs: kept with the task, visible to its owner (R-PUSH). */

import { canParseUrl } from '../../model/can-parse-url.js'
import { A2AError, clip, invalidField } from '../../model/errors.js'
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
import type { NewPushConfig, StoredPushConfig, TaskKey } from '../../stores/store.js'
import { taskNotFound } from '../access.js'
import { visibleTask } from '../following/task-reader.js'
import type { Internals } from '../internals.js'
import { assertId, longestId } from '../limits.js'
import { assertPush } from '../message-checks.js'

const largestPageSize = 100

export async function createPushConfig(
  internals: Internals,
  request: TaskPushNotificationConfig,
  context: CallContext,
): Promise<TaskPushNotificationConfig> {
  assertWebhook(request)
  assertPush(internals.agent)
  const key = await ownTask(internals, request.taskId ?? '', context)
  await assertReachable(internals, request.url, 'url')
  const made = newPushConfig(internals, request, key.id, context)
  const outcome = await internals.store.deliveries.putConfig(key, made)
  if (outcome === 'no-task') throw taskNotFound(key.id)
  if (outcome === 'full') throw tooManyWebhooks(key, made.maxConfigs)
  return made.config
}

export async function getPushConfig(
  internals: Internals,
  request: GetTaskPushNotificationConfigRequest,
  context: CallContext,
): Promise<TaskPushNotificationConfig> {
  assertPush(internals.agent)
  const key = await ownTask(internals, request.taskId, context)
  const found = await findConfig(internals, key, request.id)
  if (!found) throw configNotFound(request)
  return shownTo(internals, found, context)
}

export async function listPushConfigs(
  internals: Internals,
  request: ListTaskPushNotificationConfigsRequest,
  context: CallContext,
): Promise<ListTaskPushNotificationConfigsResponse> {
  // 0 is what an unset number looks like in some bindings.
  const pageSize = request.pageSize || largestPageSize
  if (pageSize < 0 || pageSize > largestPageSize) throw invalidField('pageSize', `must be from 1 to ${largestPageSize}`)
  assertPush(internals.agent)
  const key = await ownTask(internals, request.taskId, context)
  const afterId = request.pageToken ? Buffer.from(request.pageToken, 'base64url').toString('utf8') : undefined
  const found = await internals.store.deliveries.listConfigs(key, {
    limit: pageSize + 1,
    ...(afterId !== undefined && { afterId }),
  })
  const configs = found.slice(0, pageSize).map((each) => shownTo(internals, each, context))
  const last = found.length > pageSize ? configs.at(-1) : undefined
  return { configs, nextPageToken: last ? Buffer.from(last.id).toString('base64url') : '' }
}

export async function deletePushConfig(
  internals: Internals,
  request: DeleteTaskPushNotificationConfigRequest,
  context: CallContext,
): Promise<void> {
  assertPush(internals.agent)
  const key = await ownTask(internals, request.taskId, context)
  await internals.store.deliveries.deleteConfig(key, request.id)
}

/** The code of a missing task (R-PUSH-5), with a text that names the config. */
function configNotFound({ taskId, id }: GetTaskPushNotificationConfigRequest): A2AError {
  const text =
    id === undefined ? 'Push notification config not found' : `Push notification config not found: ${clip(id)}`
  return new A2AError('TASK_NOT_FOUND', text, {
    metadata: { taskId: clip(taskId), ...(id !== undefined && { configId: clip(id) }) },
  })
}

/** Asked for without a name, the config that is called like the task, else the first one (R3-PUSH-3). */
async function findConfig(
  { store }: Internals,
  key: TaskKey,
  id: string | undefined,
): Promise<StoredPushConfig | undefined> {
  const named = await store.deliveries.getConfig(key, id ?? key.id)
  if (named || id !== undefined) return named
  const [first] = await store.deliveries.listConfigs(key, { limit: 1 })
  return first
}

async function ownTask(internals: Internals, taskId: string, context: CallContext): Promise<TaskKey> {
  if (!(await visibleTask(internals, taskId, context))) throw taskNotFound(taskId)
  return internals.key(taskId)
}

/** Rejects, in words for the caller, when an address must not be called from here. */
export type CheckWebhook = (url: string) => Promise<void>

/**
 * Who is shown the token and the credentials of a webhook again: whoever set them (`creator`), everybody who
 * may see the task (`owner`), or nobody (`never`).
 */
export type PushSecrets = 'creator' | 'owner' | 'never'

const longestUrl = 4096
const longestSecret = 8192
const maxSchemes = 16

/** Everything of it becomes part of a request: no character may end a line, or be lost on the way. */
export function assertWebhook({ id, url, token, authentication }: TaskPushNotificationConfig, prefix = ''): void {
  assertId(id, `${prefix}id`)
  // `URL` quietly drops line breaks and tabs.
  if (/[\0-\x20\x7f]/.test(url)) throw invalidField(`${prefix}url`, 'must not contain blanks or control characters')
  if (url.length > longestUrl) throw invalidField(`${prefix}url`, `must not be longer than ${longestUrl} characters`)
  const protocol = canParseUrl(url) ? new URL(url).protocol : ''
  if (protocol !== 'https:' && protocol !== 'http:')
    throw invalidField(`${prefix}url`, 'must be an absolute http or https URL')
  assertHeaderValue(token, `${prefix}token`)
  if (!authentication) return
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(authentication.scheme))
    throw invalidField(`${prefix}authentication.scheme`, 'must be the name of an HTTP authentication scheme')
  if (authentication.scheme.length > longestId)
    throw invalidField(`${prefix}authentication.scheme`, `must not be longer than ${longestId} characters`)
  assertListed(authentication.schemes ?? [], `${prefix}authentication.schemes`)
  assertHeaderValue(authentication.credentials, `${prefix}authentication.credentials`)
}

/** Schemes that are kept and not used. */
function assertListed(schemes: readonly string[], field: string): void {
  if (schemes.length > maxSchemes) throw invalidField(field, `must not have more than ${maxSchemes} entries`)
  if (schemes.some((scheme) => scheme.length > longestId || !/^[\x20-\x7e]*$/.test(scheme)))
    throw invalidField(field, `must be printable ASCII of at most ${longestId} characters each`)
}

function assertHeaderValue(value: string | undefined, field: string): void {
  if (value === undefined) return
  if (!/^[\x20-\x7e]*$/.test(value)) throw invalidField(field, 'must be printable ASCII')
  if (value.length > longestSecret) throw invalidField(field, `must not be longer than ${longestSecret} characters`)
}

/** Asks where the address leads, for it may have been written by an attacker (R-PDEL-6). */
export async function assertReachable({ checkWebhook }: Internals, url: string, field: string): Promise<void> {
  if (!checkWebhook) return
  try {
    await checkWebhook(url)
  } catch (error) {
    throw error instanceof A2AError ? error : invalidField(field, error instanceof Error ? error.message : 'refused')
  }
}

/** For an answer before anything is written; the store counts once more. */
export async function assertRoomForWebhook({ store }: Internals, key: TaskKey, added: NewPushConfig): Promise<void> {
  const { maxConfigs } = added
  const configs = await store.deliveries.listConfigs(key, { limit: maxConfigs })
  const isReplaced = configs.some(({ config }) => config.id === added.config.id)
  if (configs.length >= maxConfigs && !isReplaced) throw tooManyWebhooks(key, maxConfigs)
}

export function tooManyWebhooks({ id }: TaskKey, most: number): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Task ${id} has ${most} webhooks and may not have more: delete one`, {
    metadata: { taskId: id, limit: 'pushConfigsPerTask', max: String(most) },
  })
}

/** The config as it is kept. */
export function newPushConfig(
  internals: Internals,
  { tenant: _tenant, ...given }: TaskPushNotificationConfig,
  taskId: string,
  context: CallContext,
): NewPushConfig {
  return {
    config: { ...given, taskId, id: given.id || defaultId(internals, taskId, context) },
    dialect: context.dialect ?? nativeDialect,
    setBy: context.caller.id,
    ...traceContextOf(context),
    maxConfigs: internals.settings.limits.pushConfigsPerTask,
  }
}

/** Dialects that know one config a task call it like the task (R3-PUSH-2). */
function defaultId({ clock }: Internals, taskId: string, { hasOnePushConfig }: CallContext): string {
  return hasOnePushConfig ? taskId : clock.newId()
}

/** The config as a caller is shown it (R-PUSH-9). */
export function shownTo(
  { settings }: Internals,
  { config, setBy }: StoredPushConfig,
  { caller }: CallContext,
): StoredPushConfig['config'] {
  const { pushSecrets } = settings
  if (pushSecrets === 'owner') return config
  if (pushSecrets === 'creator' && (setBy === undefined || setBy === caller.id)) return config
  const { token: _token, authentication, ...rest } = config
  if (!authentication) return rest
  const { credentials: _credentials, ...schemes } = authentication
  return { ...rest, authentication: schemes }
}
