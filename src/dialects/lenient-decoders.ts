/**
 * How the answers of peers are read, in v1.0 and 0.3 alike. Requests are checked to the letter; answers are
 * taken as they come, as long as they can be made sense of: what a peer leaves out is absent or empty here,
 * and `gaps.ts` fills in what the call can tell.
 *
 * A status without a state, or in one that says nothing (`TASK_STATE_UNSPECIFIED`, `unknown`), reads as
 * WORKING: not known to have ended and not known to ask anything, so that the caller looks again.
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
  role,
  string,
  struct,
  toldState,
  utcTimestamp,
} from './decode.js'

/** A message without parts is no reason to lose the task around it, nor is one without an id or a role. */
export function toldMessage(part: Decoder<Part>): Decoder<Message> {
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
      const { messageId, role: speaker, parts } = read
      if (messageId !== undefined && speaker && parts) return read as Message // that is all it needs
      if (messageId === undefined && !speaker && !parts) return refuse(faults, 'must have a messageId, a role or parts')
      // Agents are who answers.
      return { ...read, messageId: messageId ?? '', role: speaker ?? 'ROLE_AGENT', parts: parts ?? [] }
    },
  )
}

/** A time that cannot be read is no reason to lose what happened then. */
const toldTime: Decoder<string> = (value) => utcTimestamp(value, [])

export interface ToldObjects {
  readonly artifact: Decoder<Artifact>
  readonly status: Decoder<TaskStatus>
  readonly task: Decoder<Task>
  readonly statusUpdate: Decoder<TaskStatusUpdateEvent>
  readonly artifactUpdate: Decoder<TaskArtifactUpdateEvent>
}

export function toldObjects(part: Decoder<Part>, message: Decoder<Message>): ToldObjects {
  const artifact = converted(
    object<Omit<Artifact, 'parts'> & Partial<Pick<Artifact, 'parts'>>>({
      artifactId: required(string),
      name: optional(string),
      description: optional(string),
      parts: optional(array(part)),
      metadata: optional(struct),
      extensions: optional(array(string)),
    }),
    (read) => (read.parts ? (read as Artifact) : { ...read, parts: [] }), // an artifact needs parts only
  )
  const status = converted(
    object<Partial<TaskStatus>>(
      { state: optional(toldState), message: optional(message), timestamp: optional(toldTime) },
      { aliases: { message: ['update'] } },
    ),
    (read) => (read.state ? (read as TaskStatus) : { ...read, state: 'TASK_STATE_WORKING' as const }), // a status needs a state only
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
    (read) => (read.contextId ? (read as Task) : { ...read, contextId: '' }), // a task needs a context only
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
    // With these two it is whole.
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
const memberNames = [...members, 'msg', 'status_update', 'artifact_update']

/**
 * An element of a stream; the answer to a send is read alike. v1.0 and the protobufs tell them apart by the
 * member that is present, 0.3's JSON by `kind`; where neither is there, the shape tells (R3-DM-1).
 */
export function toldEvent(
  message: Decoder<Message>,
  { task, statusUpdate, artifactUpdate }: ToldObjects,
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
    const isWrapped = value.kind === undefined && memberNames.some((name) => isObject(value[name]))
    switch (isWrapped ? undefined : (value.kind ?? likelyKind(value))) {
      case 'task':
        return wrapped('task', task(value, faults))
      case 'message':
        return wrapped('message', message(value, faults))
      case 'status-update':
        return wrapped('statusUpdate', statusUpdate(value, faults))
      case 'artifact-update':
        return wrapped('artifactUpdate', artifactUpdate(value, faults))
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

function wrapped(name: keyof AnyEvent, value: object | undefined): StreamResponse | undefined {
  return value && ({ [name]: value } as unknown as StreamResponse) // each name comes with the value of its type
}

/** A page, or the tasks alone: 0.3 promises no more. */
export function toldTaskList(task: Decoder<Task>): Decoder<ListTasksResponse> {
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
