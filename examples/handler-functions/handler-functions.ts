// The struct of functions of the community Go library: one function for each method, all optional but the card.
//
// `handlerFunctions` makes an agent and a `wrap` of them, for `serve`. The functions hold for every dialect and binding at
// once. Tasks are in the store of the server: what a function returns is stored, so that `tasks/get` finds it.
import {
  A2AError,
  type AgentInit,
  type AgentService,
  type Artifact,
  agent,
  artifact,
  ask,
  askAuth,
  completed,
  failed,
  type Message,
  rejected,
  type Task,
  type TaskPushNotificationConfig,
  type TaskState,
  working,
  type Yield,
} from 'dragoman'

export interface TaskContext {
  /** the id of the task: the one that the caller chose, or one that the server made */
  readonly id: string
  readonly sessionId: string
  readonly message: Message
  /** the text of the message */
  readonly text: string
  readonly history: readonly Message[]
  /** fires when the task is canceled */
  readonly signal: AbortSignal
  /** tells readers of a stream about progress, or a part of the result */
  readonly update: (update: string | Artifact) => void
}

/** A task as functions return it. It is stored under the id of the context, whatever `id` says. */
type ReturnedTask = Pick<Task, 'status'> & Partial<Pick<Task, 'id' | 'artifacts'>>

type TaskParams = Parameters<AgentService['getTask']>[0]
type CancelParams = Parameters<AgentService['cancelTask']>[0]
type ConfigParams = Parameters<AgentService['getTaskPushNotificationConfig']>[0]

interface HandlerFunctions {
  /** called once, when the server starts */
  readonly getAgentCard: () => AgentInit | Promise<AgentInit>
  /** `tasks/send` */
  readonly sendTask?: (context: TaskContext) => ReturnedTask | Promise<ReturnedTask>
  /** `tasks/get`; `stored` reads the task */
  readonly getTask?: (params: TaskParams, stored: () => Promise<Task>) => Promise<Task>
  /** `tasks/cancel`; throws to refuse. The task is canceled after it, unless the function called `cancel` itself */
  readonly cancelTask?: (params: CancelParams, cancel: () => Promise<Task>) => Promise<Task>
  /** `tasks/sendSubscribe` */
  readonly sendTaskSubscribe?: (context: TaskContext) => ReturnedTask | Promise<ReturnedTask>
  /** `tasks/resubscribe`; throws to refuse */
  readonly resubscribe?: (params: TaskParams) => void | Promise<void>
  /** `tasks/pushNotification/set`; the server stores the config that it returns */
  readonly setTaskPushNotifications?: (
    params: TaskPushNotificationConfig,
  ) => TaskPushNotificationConfig | Promise<TaskPushNotificationConfig>
  /** `tasks/pushNotification/get`; `stored` reads the config */
  readonly getTaskPushNotifications?: (
    params: ConfigParams,
    stored: () => Promise<TaskPushNotificationConfig>,
  ) => Promise<TaskPushNotificationConfig>
}

/** In the metadata of requests: the message came by `tasks/sendSubscribe`. */
const streamed = 'handler-functions/streamed'

export async function handlerFunctions(functions: HandlerFunctions) {
  const { sendTask, sendTaskSubscribe } = functions
  const card = await functions.getAgentCard()
  return {
    agent: agent(card, async function* (turn) {
      const isStreamed = turn.metadata[streamed] === true
      // One of the two is enough for both methods.
      const send = isStreamed ? (sendTaskSubscribe ?? sendTask) : (sendTask ?? sendTaskSubscribe)
      if (!send) throw new A2AError('UNSUPPORTED_OPERATION', 'This agent takes no tasks')
      const { task, message, text, contextId: sessionId, history, signal } = turn
      const about = { id: task.id, sessionId, message, text, history, signal }
      yield* whileRunning(async (update) => await send({ ...about, update }))
    }),
    wrap: wrapWith(functions),
  }
}

/** Updates as they come, then the content of the returned task. */
async function* whileRunning(
  run: (update: (update: string | Artifact) => void) => Promise<ReturnedTask>,
): AsyncGenerator<Yield> {
  const updates: (string | Artifact)[] = []
  let wake = () => {}
  let isOver = false
  const returned = run((update) => {
    updates.push(update)
    wake()
  }).finally(() => {
    isOver = true
    wake()
  })
  // It is awaited below; until then a failure must not count as unhandled.
  returned.catch(() => undefined)
  for (;;) {
    for (const update of updates.splice(0)) yield typeof update === 'string' ? working(update) : stored(update)
    if (updates.length > 0) continue // while the last one was yielded, more came
    if (isOver) break
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  const { artifacts = [], status } = await returned
  for (const each of artifacts) yield stored(each)
  const ending = endings[status.state]
  if (!ending) throw new TypeError(`A function returned a task in ${status.state}: it must have ended, or ask`)
  yield ending(status.message?.parts)
}

function stored({ artifactId, name = '', parts, description, metadata }: Artifact) {
  return artifact(name, parts, {
    id: artifactId,
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
  })
}

const endings: Partial<Record<TaskState, typeof completed>> = {
  TASK_STATE_COMPLETED: completed,
  TASK_STATE_FAILED: failed,
  TASK_STATE_REJECTED: rejected,
  TASK_STATE_INPUT_REQUIRED: (question = 'Tell me more') => ask(question),
  TASK_STATE_AUTH_REQUIRED: (what = 'A credential is needed') => askAuth(what),
}

function wrapWith({
  getTask,
  cancelTask,
  resubscribe,
  setTaskPushNotifications,
  getTaskPushNotifications,
}: HandlerFunctions): (service: AgentService) => AgentService {
  return (service) => ({
    ...service,
    sendStreamingMessage: (request, context) =>
      service.sendStreamingMessage({ ...request, metadata: { ...request.metadata, [streamed]: true } }, context),
    ...(getTask && {
      getTask: (request, context) => getTask(request, () => service.getTask(request, context)),
    }),
    ...(cancelTask && {
      async cancelTask(request, context) {
        let canceled: Promise<Task> | undefined
        const cancel = () => (canceled ??= service.cancelTask(request, context))
        const task = await cancelTask(request, cancel)
        await cancel()
        return task
      },
    }),
    ...(resubscribe && {
      async *subscribeToTask(request, context) {
        await resubscribe(request)
        yield* service.subscribeToTask(request, context)
      },
    }),
    ...(setTaskPushNotifications && {
      createTaskPushNotificationConfig: async (request, context) =>
        await service.createTaskPushNotificationConfig(
          { ...request, ...(await setTaskPushNotifications(request)) },
          context,
        ),
    }),
    ...(getTaskPushNotifications && {
      getTaskPushNotificationConfig: (request, context) =>
        getTaskPushNotifications(request, () => service.getTaskPushNotificationConfig(request, context)),
    }),
  })
}
