// The making of a document as server-sent events, as a browser's `EventSource` reads them: each has its name, an id behind
// which a reader can go on, and one line of JSON. The last one's id is `end`: whoever comes back with it has all there is.
import {
  A2AError,
  type AgentService,
  type CallContext,
  isInterrupted,
  isTerminal,
  type StreamItem,
  type StreamResponse,
  textOf,
} from 'dragoman'
import { pieceOf, viewOf } from './document-view.ts'

type EventType = 'task' | 'progress' | 'outline' | 'document' | 'summary' | 'question' | 'result' | 'failure'
interface Event {
  readonly type: EventType
  [member: string]: unknown
}
interface Told {
  readonly id?: number | string | undefined
  readonly event: Event
}

/** The id of the last event of a run. */
export const endId = 'end'

const heartbeatMs = 15_000

/**
 * What happens to a run, and in the end how it is.
 * @param id of the task, where it is known
 */
export async function* eventsOf(
  items: AsyncIterable<StreamItem>,
  service: AgentService,
  context: CallContext,
  id?: string,
): AsyncGenerator<Told, void, void> {
  let taskId = id
  let last: number | undefined
  try {
    for await (const { event, seq } of items) {
      if ('task' in event) taskId = event.task.id
      const told = toldOf(event)
      if (told) yield { id: seq, event: told }
      last = seq ?? last
      // A question is for people: the stream does not wait until somebody has thought about it.
      if (isPause(event)) break
    }
  } catch (error) {
    // A run that has ended has no more to tell than its end.
    if (!(error instanceof A2AError) || error.code !== 'UNSUPPORTED_OPERATION') throw error
  }
  if (taskId === undefined) return
  const view = viewOf(await service.getTask({ id: taskId }, context))
  if (view.question !== undefined) yield { id: last, event: { type: 'question', ...view } }
  else yield { id: endId, event: { type: view.error ? 'failure' : 'result', ...view } }
}

function toldOf(event: StreamResponse): Event | undefined {
  if ('task' in event) return { type: 'task', ...viewOf(event.task) }
  if ('artifactUpdate' in event) {
    const { artifact, append = false } = event.artifactUpdate
    const [[type, content] = []] = Object.entries(pieceOf(artifact))
    if (type === 'outline') return { type, outline: content }
    return type === 'document' || type === 'summary' ? { type, text: content, append } : undefined
  }
  if (!('statusUpdate' in event)) return undefined
  const { state, message } = event.statusUpdate.status
  return state === 'TASK_STATE_WORKING' && message ? { type: 'progress', message: textOf(message) } : undefined
}

function isPause(event: StreamResponse) {
  const status = 'statusUpdate' in event ? event.statusUpdate.status : 'task' in event ? event.task.status : undefined
  return status !== undefined && (isInterrupted(status.state) || isTerminal(status.state))
}

/** @param left fired when the reader is gone; the run goes on */
export async function sse(events: AsyncGenerator<Told, void, void>, left: AbortController): Promise<Response> {
  // The first one before the answer begins: what is refused is refused with its own status.
  let next = await events.next()
  const encoder = new TextEncoder()
  let heartbeat: NodeJS.Timeout | undefined
  const body = new ReadableStream({
    start(controller) {
      heartbeat = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), heartbeatMs)
    },
    async pull(controller) {
      if (next.done) {
        clearInterval(heartbeat)
        controller.close()
        return
      }
      const { id, event } = next.value
      const place = id === undefined ? '' : `id: ${id}\n`
      controller.enqueue(encoder.encode(`${place}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
      try {
        next = await events.next()
      } catch (error) {
        // The connection breaks off, and whoever read it comes back behind its last event.
        clearInterval(heartbeat)
        controller.error(error)
      }
    },
    cancel() {
      clearInterval(heartbeat)
      left.abort()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } })
}
