/** Answers of 0.3 servers, in the shape of their form or, where somebody mixes them up, in the other. */
import type { StreamResponse } from '../../model/event.js'
import { isObject } from '../../model/is-object.js'
import type { Operation } from '../../model/operations.js'
import type { TaskPushNotificationConfig } from '../../model/push-config.js'
import type { GetTaskRequest, SendMessageRequest, SendMessageResponse } from '../../model/service.js'
import { isTerminal, type Task } from '../../model/task.js'
import type { RequestCodec, StreamDecoder, StreamRequest } from '../client-dialect.js'
import { array, decodeOrThrow, object, optional, string } from '../decode.js'
import { createStreamDecoder, filledAnswer, filledTask, type Known, knownFrom } from '../gaps.js'
import { toldTaskList } from '../told.js'
import { decodeCard } from './card.js'
import type { SpellingFor } from './client-requests.js'
import { toldPushConfig } from './push-configs.js'
import { inEveryPartForm } from './spelling.js'
import { decodeEvent, decodeTask, task } from './tasks.js'

type Decode = RequestCodec['decode']

/** For streams: an answer that is none is the only element of one, and read as such. */
const asItIs: Decode = (answer) => answer

interface ConfigPage {
  readonly configs?: readonly TaskPushNotificationConfig[]
  readonly nextPageToken?: string
}

const configPage = object<ConfigPage>({ configs: optional(array(toldPushConfig)), nextPageToken: optional(string) })

const decodeConfig: Decode = (answer, request, facts): TaskPushNotificationConfig =>
  withTask(decodeOrThrow(toldPushConfig, answer), knownFrom(request, facts))

/** Whose webhook it is stands in the request, too. */
function withTask(config: TaskPushNotificationConfig, { taskId = '' }: Known): TaskPushNotificationConfig {
  return config.taskId === undefined ? { ...config, taskId } : config
}

const taskLists = inEveryPartForm((form) => toldTaskList(task[form]))

export function decodersOf(spellingFor: SpellingFor): Readonly<Record<Operation, Decode>> {
  return {
    sendMessage(answer, request, facts): SendMessageResponse {
      const read = filledAnswer(decodeEvent(withRole(answer), spellingFor(facts)), knownFrom(request, facts))
      const { configuration } = request as SendMessageRequest
      return 'task' in read ? { task: cut(read.task, configuration?.historyLength) } : read
    },
    sendStreamingMessage: asItIs,
    subscribeToTask: asItIs,
    getTask(answer, request, facts): Task {
      const read = filledTask(decodeTask(answer, spellingFor(facts)), knownFrom(request, facts))
      return cut(read, (request as GetTaskRequest).historyLength)
    },
    cancelTask: (answer, request, facts): Task =>
      filledTask(decodeTask(answer, spellingFor(facts)), knownFrom(request, facts)),
    listTasks(answer, _request, facts) {
      const page = decodeOrThrow(taskLists[spellingFor(facts).partForm], answer)
      return { ...page, tasks: page.tasks.map((each) => filledTask(each, facts)) }
    },
    createTaskPushNotificationConfig: decodeConfig,
    getTaskPushNotificationConfig: decodeConfig,
    listTaskPushNotificationConfigs(answer, request, facts) {
      // An array in JSON-RPC, a page in the protobuf.
      const page = decodeOrThrow(configPage, Array.isArray(answer) ? { configs: answer } : (answer ?? {}))
      const known = knownFrom(request, facts)
      const configs = (page.configs ?? []).map((config) => withTask(config, known))
      return { configs, nextPageToken: page.nextPageToken ?? '' }
    },
    // `null`, `{}` or nothing (R3-PUSH-3).
    deleteTaskPushNotificationConfig: () => undefined,
    getExtendedAgentCard: (answer) => decodeCard(answer),
  }
}

/** The protobuf cannot ask for no history, so who asked for none is given none here (R3-GET-2). */
function cut(read: Task, historyLength: number | undefined): Task {
  if (historyLength !== 0 || !read.history) return read
  const { history: _history, ...rest } = read
  return rest
}

/** Streams end where they say so, at a message, and at a task that has ended already (R3-STRM-5, RM-STR-6). */
export function streamDecoderOf(spellingFor: SpellingFor): (stream: StreamRequest) => StreamDecoder {
  return (stream) => {
    const as = spellingFor(stream.facts)
    return createStreamDecoder(stream, { decode: (data): StreamResponse => decodeEvent(withRole(data), as), isLast })
  }
}

/** Servers of chat-rpc leave out the role of an answer. */
function withRole(answer: unknown): unknown {
  return isObject(answer) && answer.kind === 'message' && answer.role === undefined
    ? { ...answer, role: 'agent' }
    : answer
}

function isLast(event: StreamResponse, data: unknown): boolean {
  if ('task' in event) return isTerminal(event.task.status.state)
  if (!('statusUpdate' in event) || !isObject(data)) return false
  const update = data.statusUpdate ?? data.status_update ?? data
  return isObject(update) && update.final === true
}
