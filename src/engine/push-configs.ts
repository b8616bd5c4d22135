/** Push notification configs: kept with the task, visible to its owner (R-PUSH). */
import { A2AError, clip, invalidField } from '../model/errors.js'
import type { TaskPushNotificationConfig } from '../model/push-config.js'
import type {
  CallContext,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
} from '../model/service.js'
import type { StoredPushConfig, TaskKey } from '../stores/store.js'
import { assertPush } from './acceptable.js'
import type { Internals } from './internals.js'
import { taskNotFound } from './ownership.js'
import { visibleTask } from './snapshot.js'
import { assertReachable, assertWebhook, newPushConfig, shownTo, tooManyWebhooks } from './webhooks.js'

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
  const outcome = await internals.store.putPushConfig(key, made)
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
  const found = await internals.store.listPushConfigs(key, {
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
  await internals.store.deletePushConfig(key, request.id)
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
  const named = await store.getPushConfig(key, id ?? key.id)
  if (named || id !== undefined) return named
  const [first] = await store.listPushConfigs(key, { limit: 1 })
  return first
}

async function ownTask(internals: Internals, taskId: string, context: CallContext): Promise<TaskKey> {
  if (!(await visibleTask(internals, taskId, context))) throw taskNotFound(taskId)
  return internals.key(taskId)
}
