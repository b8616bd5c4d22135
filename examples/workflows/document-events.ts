// A document run as server-sent events for a browser's `EventSource`: each event has a name, an id to resume after, and
// one line of JSON. The id of the last event is `end`; a reader that reconnects with it has received everything.
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
interface SentEvent {
  readonly id?: number | string | undefined
  readonly event: Event
}

/** The id of the last event of a run. */
export const endId = 'end'

const heartbeatMs = 15_000

/**
 * Yields the events of a run, and at the end its result, failure or question.
 * @param id Task id, if it is known.
 */
export async function* eventsOf(
  items: AsyncIterable<StreamItem>,
  service: AgentService,
  context: CallContext,
  id?: string,
): AsyncGenerator<SentEvent, void, void> {
  let taskId = id
  let last: number | undefined
  try {
    for await (const { event, seq } of items) {
      if ('task' in event) taskId = event.task.id
      const told = eventFrom(event)
      if (told) yield { id: seq, event: told }
      last = seq ?? last
      // The stream ends with a question, because an answer may take long.
      if (isPause(event)) break
    }
  } catch (error) {
    // The run has ended, so only its final state is left to send.
    if (!(error instanceof A2AError) || error.code !== 'UNSUPPORTED_OPERATION') throw error
  }
  if (taskId === undefined) return
  const view = viewOf(await service.getTask({ id: taskId }, context))
  if (view.question !== undefined) yield { id: last, event: { type: 'question', ...view } }
  else yield { id: endId, event: { type: view.error ? 'failure' : 'result', ...view } }
}

function eventFrom(event: StreamResponse): Event | undefined {
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

/** @param left Aborted when the reader disconnects. The run continues. */
export async function sse(events: AsyncGenerator<SentEvent, void, void>, left: AbortController): Promise<Response> {
  // Wait for the first event before the response starts, so that an error gets its HTTP status.
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
        // Break the connection. The reader reconnects and resumes after its last event.
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
