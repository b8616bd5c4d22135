/**
 * Decoders for responses of peers, shared by v1.0 and 0.3. Requests are checked strictly; responses are accepted if
 * they can be interpreted. Members that a peer omits are absent or empty here; `fill-missing.ts` takes them from the
 * request.
 *
 * A status without a state, or with an unspecified one (`TASK_STATE_UNSPECIFIED`, `unknown`), is decoded as WORKING: it
 * is not known to have ended or to ask a question, so the caller polls again.
 */
import type { Artifact } from '../model/artifact.js'
import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../model/event.js'
import { isObject } from '../model/is-object.js'
import type { Message } from '../model/message.js'
import type { Part } from '../model/part.js'
import type { ListTasksResponse } from '../model/service.js'
import type { Task, TaskStatus } from '../model/task.js'
import {
  array,
  boolean,
  converted,
  type Decoder,
  int32,
  object,
  optional,
  refuse,
  required,
  string,
  struct,
  utcTimestamp,
} from './decode.js'
import { lenientTaskState, role } from './state-and-role.js'

/** Accepts messages without parts, id or role: the task around them must not be lost. */
export function lenientMessage(part: Decoder<Part>): Decoder<Message> {
  return converted(
    object<Partial<Message>>(
      {
        messageId: optional(string),
        contextId: optional(string),
        taskId: optional(string),
        role: optional(role),
        metadata: optional(struct),
        extensions: optional(array(string)),
        referenceTaskIds: optional(array(string)),
        parts: optional(array(part)),
      },
      { aliases: { parts: ['content'] } }, // the name in 0.3's protobuf (R3-PB-2)
    ),
    (read, faults): Message | undefined => {
      const { messageId, role: author, parts } = read
      if (messageId !== undefined && author && parts) return read as Message // all required members are present
      if (messageId === undefined && !author && !parts) return refuse(faults, 'must have a messageId, a role or parts')
      // The agent is the author of a response.
      return { ...read, messageId: messageId ?? '', role: author ?? 'ROLE_AGENT', parts: parts ?? [] }
    },
  )
}

/** Ignores an invalid time: the event around it must not be lost. */
const lenientTimestamp: Decoder<string> = (value) => utcTimestamp(value, [])

export interface LenientDecoders {
  readonly artifact: Decoder<Artifact>
  readonly status: Decoder<TaskStatus>
  readonly task: Decoder<Task>
  readonly statusUpdate: Decoder<TaskStatusUpdateEvent>
  readonly artifactUpdate: Decoder<TaskArtifactUpdateEvent>
}

export function lenientDecoders(part: Decoder<Part>, message: Decoder<Message>): LenientDecoders {
  const artifact = converted(
    object<Omit<Artifact, 'parts'> & Partial<Pick<Artifact, 'parts'>>>({
      artifactId: required(string),
      name: optional(string),
      description: optional(string),
      parts: optional(array(part)),
      metadata: optional(struct),
      extensions: optional(array(string)),
    }),
    (read) => (read.parts ? (read as Artifact) : { ...read, parts: [] }), // `parts` is the only required member
  )
  const status = converted(
    object<Partial<TaskStatus>>(
      { state: optional(lenientTaskState), message: optional(message), timestamp: optional(lenientTimestamp) },
      { aliases: { message: ['update'] } },
    ),
    (read) => (read.state ? (read as TaskStatus) : { ...read, state: 'TASK_STATE_WORKING' as const }), // `state` is the only required member
  )
  const task = converted(
    object<WithoutContext<Task>>({
      id: required(string),
      contextId: optional(string),
      status: required(status),
      artifacts: optional(array(artifact)),
      history: optional(array(message)),
      metadata: optional(struct),
    }),
    (read) => (read.contextId ? (read as Task) : { ...read, contextId: '' }), // `contextId` is the only required member that may be missing
  )
  const statusUpdate = ofTask<TaskStatusUpdateEvent>(
    object<WithoutPlace<TaskStatusUpdateEvent>>({
      taskId: optional(string),
      contextId: optional(string),
      status: required(status),
      metadata: optional(struct),
    }),
  )
  const artifactUpdate = ofTask<TaskArtifactUpdateEvent>(
    object<WithoutPlace<TaskArtifactUpdateEvent>>({
      taskId: optional(string),
      contextId: optional(string),
      artifact: required(artifact),
      append: optional(boolean),
      lastChunk: optional(boolean),
      metadata: optional(struct),
    }),
  )
  return { artifact, status, task, statusUpdate, artifactUpdate }
}

type WithoutContext<T> = Omit<T, 'contextId'> & { readonly contextId?: string }
type WithoutPlace<T> = Omit<T, 'taskId' | 'contextId'> & { readonly taskId?: string; readonly contextId?: string }

function ofTask<T extends { readonly taskId: string; readonly contextId: string }>(
  decode: Decoder<WithoutPlace<T>>,
): Decoder<T> {
  return converted(decode, (read) => {
    const { taskId = '', contextId = '' } = read
    // With both ids, the update is complete.
    return (taskId !== '' && contextId !== '' ? read : { ...read, taskId, contextId }) as unknown as T
  })
}

interface AnyEvent {
  readonly task?: Task
  readonly message?: Message
  readonly statusUpdate?: TaskStatusUpdateEvent
  readonly artifactUpdate?: TaskArtifactUpdateEvent
}

const members = ['task', 'message', 'statusUpdate', 'artifactUpdate']
const memberNames: ReadonlySet<string> = new Set([...members, 'msg', 'status_update', 'artifact_update'])

function hasMember(value: Record<string, unknown>): boolean {
  for (const name in value) if (memberNames.has(name) && isObject(value[name])) return true
  return false
}

/**
 * Decodes an element of a stream, or the response to a send. In v1.0 and the protobufs the member that is present gives
 * the kind, in 0.3's JSON `kind` does. Without either, the shape decides (R3-DM-1).
 */
export function lenientEvent(
  message: Decoder<Message>,
  { task, statusUpdate, artifactUpdate }: LenientDecoders,
  { hasKinds }: { readonly hasKinds: boolean },
): Decoder<StreamResponse> {
  const byMember = object<AnyEvent>(
    {
      task: optional(task),
      message: optional(message),
      statusUpdate: optional(statusUpdate),
      artifactUpdate: optional(artifactUpdate),
    },
    { oneof: members, aliases: { message: ['msg'] } },
  ) as Decoder<StreamResponse> // exactly one member is present
  return (value, faults) => {
    if (!isObject(value)) return refuse(faults, 'must be an object')
    const isWrapped = value.kind === undefined && hasMember(value)
    switch (isWrapped ? undefined : (value.kind ?? likelyKind(value))) {
      case 'task':
        return wrap(task(value, faults), (read) => ({ task: read }))
      case 'message':
        return wrap(message(value, faults), (read) => ({ message: read }))
      case 'status-update':
        return wrap(statusUpdate(value, faults), (read) => ({ statusUpdate: read }))
      case 'artifact-update':
        return wrap(artifactUpdate(value, faults), (read) => ({ artifactUpdate: read }))
      default:
        return isWrapped || !hasKinds
          ? byMember(value, faults)
          : refuse(faults, 'must be one of task, message, status-update, artifact-update', 'kind')
    }
  }
}

function likelyKind(value: Record<string, unknown>): string | undefined {
  if ('artifact' in value) return 'artifact-update'
  if ('status' in value) return 'id' in value ? 'task' : 'status-update'
  return 'parts' in value || 'messageId' in value ? 'message' : undefined
}

function wrap<T>(value: T | undefined, inEvent: (value: T) => StreamResponse): StreamResponse | undefined {
  return value && inEvent(value)
}

/** A page, or the tasks alone: 0.3 guarantees no more. */
export function lenientTaskList(task: Decoder<Task>): Decoder<ListTasksResponse> {
  const page = object<Partial<ListTasksResponse>>({
    tasks: optional(array(task)),
    nextPageToken: optional(string),
    pageSize: optional(int32),
    totalSize: optional(int32),
  })
  return converted(
    (value, faults) => page(Array.isArray(value) ? { tasks: value } : value, faults),
    ({ tasks = [], nextPageToken = '', pageSize = tasks.length, totalSize = tasks.length }) => ({
      tasks,
      nextPageToken,
      pageSize,
      totalSize,
    }),
  )
}
