// The front end's API: one call from a topic to a document, without a word of A2A. Runs are the tasks of the workflow
// agent, so that both sides see the same: a document that was asked for here can be followed there.
//
//   POST   /api/documents  {"topic"}   the finished document; with `Accept: text/event-stream` its making, event by event;
//                                      with `Prefer: respond-async` at once, with 202
//   GET    /api/documents/{taskId}     as it is now; with `Accept: text/event-stream` from now on, or from Last-Event-ID
//   DELETE /api/documents/{taskId}     cancels it
import { A2AError } from 'dragoman'
import { endId, eventsOf, sse } from './document-events.js'
import { viewOf } from './document-view.js'

/** @import { AgentService, CallContext } from 'dragoman' */
/** @import { Route } from 'dragoman/server' */
/** @typedef {{ request: Request, service: AgentService, context: CallContext }} Call */

const path = '/api/documents'
const longestBody = 64 * 1024
const longestTopic = 2000

/** @param {string} name of the workflow agent on the same port
 * @returns {Route}
 */
export function documentsApi(name) {
  return {
    path,
    async answer(request, { caller, services }) {
      const service = services.get(name)
      if (!service) throw new Error(`${name} is not served on this port`)
      try {
        return await answer({ request, service, context: { caller, dialect: 'v1' } })
      } catch (error) {
        return refusal(error)
      }
    },
  }
}

/** @param {Call} call @returns {Promise<Response>} */
async function answer(call) {
  const { method, url } = call.request
  const id = decodeURIComponent(new URL(url).pathname.slice(path.length).replace(/^\/|\/$/g, ''))
  if (id === '') return method === 'POST' ? await create(call) : notAllowed('POST')
  if (method === 'GET') return await (wantsEvents(call.request) ? follow(call, id) : look(call, id))
  return method === 'DELETE' ? await cancel(call, id) : notAllowed('GET, DELETE')
}

/** @param {Call} call */
async function create({ request, service, context }) {
  const topic = await topicIn(request)
  const message = { messageId: crypto.randomUUID(), role: /** @type {const} */ ('ROLE_USER'), parts: [{ text: topic }] }
  const key = request.headers.get('idempotency-key')
  const once = key ? { ...context, idempotencyKey: key } : context
  if (wantsEvents(request)) {
    const left = new AbortController()
    const items = service.sendStreamingMessage({ message }, { ...once, signal: left.signal })
    return sse(eventsOf(items, service, context), left)
  }
  const isAsync = /\brespond-async\b/i.test(request.headers.get('prefer') ?? '')
  const sent = await service.sendMessage({ message, configuration: { returnImmediately: isAsync } }, once)
  if (!('task' in sent)) throw new A2AError('INTERNAL_ERROR', 'The workflow made no task')
  const location = `${path}/${sent.task.id}`
  if (isAsync) return Response.json(viewOf(sent.task), { status: 202, headers: { location } })
  const view = viewOf(sent.task)
  // To whoever waits for a document, a run without one is a failure.
  return Response.json(view, { status: view.error?.code ?? 200, headers: { location } })
}

/** @param {Call} call @param {string} id */
async function look({ service, context }, id) {
  return Response.json(viewOf(await service.getTask({ id }, context)))
}

/** @param {Call} call @param {string} id */
async function follow({ request, service, context }, id) {
  await service.getTask({ id }, context) // whoever may not see it is told so before the stream begins
  const seen = request.headers.get('last-event-id') ?? undefined
  // The one answer after which an `EventSource` does not come back.
  if (seen === endId) return new Response(null, { status: 204 })
  const after = Number(seen)
  const left = new AbortController()
  const resumed = Number.isInteger(after) ? { ...context, resumeAfter: after } : context
  return sse(eventsOf(service.subscribeToTask({ id }, { ...resumed, signal: left.signal }), service, context, id), left)
}

/** @param {Call} call @param {string} id */
async function cancel({ service, context }, id) {
  return Response.json(viewOf(await service.cancelTask({ id }, context)))
}

/** @param {Request} request */
function wantsEvents(request) {
  const { searchParams } = new URL(request.url)
  return searchParams.has('stream') || /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '')
}

/** @param {Request} request */
async function topicIn(request) {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'Send {"topic": "…"} as application/json')
  const text = await readText(request)
  /** @type {unknown} */
  let body
  try {
    body = JSON.parse(text)
  } catch {
    throw new A2AError('PARSE_ERROR', 'The body is no JSON')
  }
  const topic = typeof body === 'object' && body !== null && 'topic' in body ? body.topic : undefined
  if (typeof topic !== 'string' || topic.trim() === '')
    throw new A2AError('INVALID_PARAMS', 'Send {"topic": "…"}: what the document is about')
  if (topic.length > longestTopic)
    throw new A2AError('INVALID_PARAMS', `A topic has at most ${longestTopic} characters; this one has ${topic.length}`)
  return topic.trim()
}

/** No more than it may be, however much is sent.
 * @param {Request} request
 */
async function readText(request) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(/** @type {Uint8Array} */ (chunk), { stream: true })
    if (text.length > longestBody) throw new A2AError('PAYLOAD_TOO_LARGE', `A request has at most ${longestBody} bytes`)
  }
  return text + decoder.decode()
}

/** @type {Partial<Record<import('dragoman').ErrorCode, number>>} */
const statuses = {
  TASK_NOT_FOUND: 404,
  TASK_NOT_CANCELABLE: 409,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
  PARSE_ERROR: 400,
  INVALID_PARAMS: 400,
  INVALID_REQUEST: 400,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

/** What is none of the caller's business is thrown on, and logged.
 * @param {unknown} error
 */
function refusal(error) {
  const code = error instanceof A2AError ? statuses[error.code] : undefined
  if (!(error instanceof A2AError) || code === undefined) throw error
  const { retryAfterSeconds } = error.details
  return Response.json(
    { error: { code, status: error.code, message: error.message, details: [] } },
    { status: code, ...(retryAfterSeconds && { headers: { 'retry-after': String(retryAfterSeconds) } }) },
  )
}

/** @param {string} allow */
function notAllowed(allow) {
  const error = { code: 405, status: 'METHOD_NOT_ALLOWED', message: `Answered here: ${allow}`, details: [] }
  return Response.json({ error }, { status: 405, headers: { allow } })
}
