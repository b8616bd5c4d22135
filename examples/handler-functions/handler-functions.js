// The struct of functions of the community Go library: one function for each method, all optional but the card.
//
// `handlerFunctions` makes an agent and a `wrap` of them, for `serve`. The functions hold for every dialect and binding at
// once. Tasks are in the store of the server: what a function returns is stored, so that `tasks/get` finds it.
import { A2AError, agent, artifact, ask, askAuth, completed, failed, rejected, working } from 'dragoman'

/** @import { AgentInit, AgentService, Artifact, Message, Task, TaskPushNotificationConfig, TaskState, Yield } from 'dragoman' */

/**
 * @typedef {object} TaskContext
 * @property {string} id the id of the task: the one that the caller chose, or one that the server made
 * @property {string} sessionId
 * @property {Message} message
 * @property {string} text the text of the message
 * @property {readonly Message[]} history
 * @property {AbortSignal} signal fires when the task is canceled
 * @property {(update: string | Artifact) => void} update tells readers of a stream about progress, or a part of the result
 */

/**
 * A task as functions return it. It is stored under the id of the context, whatever `id` says.
 * @typedef {Pick<Task, 'status'> & Partial<Pick<Task, 'id' | 'artifacts'>>} ReturnedTask
 */

/** @typedef {Parameters<AgentService['getTask']>[0]} TaskParams */
/** @typedef {Parameters<AgentService['cancelTask']>[0]} CancelParams */
/** @typedef {Parameters<AgentService['getTaskPushNotificationConfig']>[0]} ConfigParams */

/**
 * @typedef {object} HandlerFunctions
 * @property {() => AgentInit | Promise<AgentInit>} getAgentCard called once, when the server starts
 * @property {(context: TaskContext) => ReturnedTask | Promise<ReturnedTask>} [sendTask] `tasks/send`
 * @property {(params: TaskParams, stored: () => Promise<Task>) => Promise<Task>} [getTask] `tasks/get`; `stored` reads the task
 * @property {(params: CancelParams, cancel: () => Promise<Task>) => Promise<Task>} [cancelTask]
 *   `tasks/cancel`; throws to refuse. The task is canceled after it, unless the function called `cancel` itself
 * @property {(context: TaskContext) => ReturnedTask | Promise<ReturnedTask>} [sendTaskSubscribe] `tasks/sendSubscribe`
 * @property {(params: TaskParams) => void | Promise<void>} [resubscribe] `tasks/resubscribe`; throws to refuse
 * @property {(params: TaskPushNotificationConfig) => TaskPushNotificationConfig | Promise<TaskPushNotificationConfig>}
 *   [setTaskPushNotifications] `tasks/pushNotification/set`; the server stores the config that it returns
 * @property {(params: ConfigParams, stored: () => Promise<TaskPushNotificationConfig>) => Promise<TaskPushNotificationConfig>}
 *   [getTaskPushNotifications] `tasks/pushNotification/get`; `stored` reads the config
 */

/** In the metadata of requests: the message came by `tasks/sendSubscribe`. */
const streamed = 'handler-functions/streamed'

/** @param {HandlerFunctions} functions */
export async function handlerFunctions(functions) {
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

/**
 * Updates as they come, then the content of the returned task.
 * @param {(update: (update: string | Artifact) => void) => Promise<ReturnedTask>} run
 * @returns {AsyncGenerator<Yield>}
 */
async function* whileRunning(run) {
  /** @type {(string | Artifact)[]} */
  const updates = []
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
    await /** @type {Promise<void>} */ (new Promise((resolve) => (wake = resolve)))
  }
  const { artifacts = [], status } = await returned
  for (const each of artifacts) yield stored(each)
  const ending = endings[status.state]
  if (!ending) throw new TypeError(`A function returned a task in ${status.state}: it must have ended, or ask`)
  yield ending(status.message?.parts)
}

/** @param {Artifact} artifactOf */
function stored({ artifactId, name = '', parts, description, metadata }) {
  return artifact(name, parts, {
    id: artifactId,
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
  })
}

/** @type {Partial<Record<TaskState, typeof completed>>} */
const endings = {
  TASK_STATE_COMPLETED: completed,
  TASK_STATE_FAILED: failed,
  TASK_STATE_REJECTED: rejected,
  TASK_STATE_INPUT_REQUIRED: (question = 'Tell me more') => ask(question),
  TASK_STATE_AUTH_REQUIRED: (what = 'A credential is needed') => askAuth(what),
}

/**
 * @param {HandlerFunctions} functions
 * @returns {(service: AgentService) => AgentService}
 */
function wrapWith({ getTask, cancelTask, resubscribe, setTaskPushNotifications, getTaskPushNotifications }) {
  return (service) => ({
    ...service,
    sendStreamingMessage: (request, context) =>
      service.sendStreamingMessage({ ...request, metadata: { ...request.metadata, [streamed]: true } }, context),
    ...(getTask && {
      getTask: (request, context) => getTask(request, () => service.getTask(request, context)),
    }),
    ...(cancelTask && {
      async cancelTask(request, context) {
        /** @type {Promise<Task> | undefined} */
        let canceled
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
