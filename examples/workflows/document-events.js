// The making of a document as server-sent events, as a browser's `EventSource` reads them: each has its name, an id behind
// which a reader can go on, and one line of JSON. The last one's id is `end`: whoever comes back with it has all there is.
import { A2AError, isInterrupted, isTerminal, textOf } from 'dragoman'
import { pieceOf, viewOf } from './document-view.js'

/** @import { AgentService, CallContext, StreamItem, StreamResponse } from 'dragoman' */
/** @typedef {'task' | 'progress' | 'outline' | 'document' | 'summary' | 'question' | 'result' | 'failure'} EventType */
/** @typedef {{ type: EventType, [member: string]: unknown }} Event */
/** @typedef {{ id?: number | string | undefined, event: Event }} Told */

/** The id of the last event of a run. */
export const endId = 'end'

const heartbeatMs = 15_000

/** What happens to a run, and in the end how it is.
 * @param {AsyncIterable<StreamItem>} items
 * @param {AgentService} service
 * @param {CallContext} context
 * @param {string} [id] of the task, where it is known
 * @returns {AsyncGenerator<Told, void, void>}
 */
export async function* eventsOf(items, service, context, id) {
  let taskId = id
  /** @type {number | undefined} */
  let last
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

/** @param {StreamResponse} event @returns {Event | undefined} */
function toldOf(event) {
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

/** @param {StreamResponse} event */
function isPause(event) {
  const status = 'statusUpdate' in event ? event.statusUpdate.status : 'task' in event ? event.task.status : undefined
  return status !== undefined && (isInterrupted(status.state) || isTerminal(status.state))
}

/**
 * @param {AsyncGenerator<Told, void, void>} events
 * @param {AbortController} left fired when the reader is gone; the run goes on
 * @returns {Promise<Response>}
 */
export async function sse(events, left) {
  // The first one before the answer begins: what is refused is refused with its own status.
  let next = await events.next()
  const encoder = new TextEncoder()
  /** @type {NodeJS.Timeout | undefined} */
  let heartbeat
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
