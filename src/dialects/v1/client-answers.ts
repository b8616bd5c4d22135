/** Answers of v1.0 servers. The JSON is the model's, but it is a stranger's: it is read member by member. */
import type { StreamResponse } from '../../model/event.js'
import type { Operation } from '../../model/operations.js'
import type { AuthenticationInfo, TaskPushNotificationConfig } from '../../model/push-config.js'
import type { ListTaskPushNotificationConfigsResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import type { RequestCodec } from '../client-dialect.js'
import { array, converted, type Decoder, decodeOrThrow, object, optional, required, string } from '../decode.js'
import { filledAnswer, filledTask, type Known, knownFrom } from '../gaps.js'
import { toldEvent, toldMessage, toldObjects, toldTaskList } from '../told.js'
import { toldPart } from './messages.js'
import { decodeCard } from './read-card.js'

const message = toldMessage(toldPart)
const told = toldObjects(toldPart, message)
const event = toldEvent(message, told, { hasKinds: false })
const taskList = toldTaskList(told.task)

/** Credentials may be kept from the reader, and the scheme with them. */
const authentication = converted(
  object<Partial<Omit<AuthenticationInfo, 'schemes'>>>({ scheme: optional(string), credentials: optional(string) }),
  ({ scheme, ...rest }): AuthenticationInfo | undefined => (scheme === undefined ? undefined : { scheme, ...rest }),
)

const pushConfig = object<TaskPushNotificationConfig>({
  tenant: optional(string),
  id: optional(string),
  taskId: optional(string),
  url: required(string),
  token: optional(string),
  authentication: optional(authentication),
})

const pushConfigPage = object<Partial<ListTaskPushNotificationConfigsResponse>>({
  configs: optional(array(pushConfig)),
  nextPageToken: optional(string),
})

/** A page, or the configs alone as in 0.3. */
const pushConfigList: Decoder<Partial<ListTaskPushNotificationConfigsResponse>> = (value, faults) =>
  pushConfigPage(Array.isArray(value) ? { configs: value } : value, faults)

export function decodeEvent(wire: unknown): StreamResponse {
  return decodeOrThrow(event, wire)
}

/** The task is in the path over REST, and some servers leave it there. */
function withTask(config: TaskPushNotificationConfig, { taskId }: Known): TaskPushNotificationConfig {
  return config.taskId === undefined && taskId !== undefined ? { ...config, taskId } : config
}

type Decode = RequestCodec['decode']

const decodeTask: Decode = (answer, request, facts): Task =>
  filledTask(decodeOrThrow(told.task, answer), knownFrom(request, facts))

const decodeConfig: Decode = (answer, request, facts): TaskPushNotificationConfig =>
  withTask(decodeOrThrow(pushConfig, answer), knownFrom(request, facts))

/** For streams: an answer that is none is the only element of one, and read as such. */
const asItIs: Decode = (answer) => answer

export const decoders: Readonly<Record<Operation, Decode>> = {
  sendMessage: (answer, request, facts) => filledAnswer(decodeEvent(answer), knownFrom(request, facts)),
  sendStreamingMessage: asItIs,
  subscribeToTask: asItIs,
  getTask: decodeTask,
  cancelTask: decodeTask,
  listTasks(answer, _request, facts) {
    const page = decodeOrThrow(taskList, answer)
    return { ...page, tasks: page.tasks.map((task) => filledTask(task, facts)) }
  },
  createTaskPushNotificationConfig: decodeConfig,
  getTaskPushNotificationConfig: decodeConfig,
  listTaskPushNotificationConfigs(answer, request, facts) {
    const { configs = [], nextPageToken = '' } = decodeOrThrow(pushConfigList, answer ?? {})
    const known = knownFrom(request, facts)
    return { configs: configs.map((config) => withTask(config, known)), nextPageToken }
  },
  // `{}`, `null` or nothing (R-PUSH-6).
  deleteTaskPushNotificationConfig: () => undefined,
  getExtendedAgentCard: (answer) => decodeCard(answer),
}
