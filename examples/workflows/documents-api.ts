// An HTTP API for front ends: one call from a topic to a document, without A2A. Runs are tasks of the workflow agent, so a
// run that was started here can be followed over A2A.
//
//   POST   /api/documents  {"topic"}   the finished document; with `Accept: text/event-stream` its events;
//                                      with `Prefer: respond-async` 202 at once
//   GET    /api/documents/{taskId}     its current state; with `Accept: text/event-stream` its events, after Last-Event-ID
//   DELETE /api/documents/{taskId}     cancels it
import { A2AError, type AgentService, type CallContext, type ErrorCode } from 'dragoman'
import type { Route } from 'dragoman/server'
import { endId, eventsOf, sse } from './document-events.ts'
import { viewOf } from './document-view.ts'

interface Call {
  readonly request: Request
  readonly service: AgentService
  readonly context: CallContext
}

const path = '/api/documents'
const maxBodyLength = 64 * 1024
const maxTopicLength = 2000

/** @param name Name of the workflow agent on the same port. */
export function documentsApi(name: string): Route {
  return {
    path,
    async answer(request, { caller, services }) {
      const service = services.get(name)
      if (!service) throw new Error(`${name} is not served on this port`)
      try {
        return await answer({ request, service, context: { caller } })
      } catch (error) {
        return refusal(error)
      }
    },
  }
}

async function answer(call: Call): Promise<Response> {
  const { method, url } = call.request
  const id = decodeURIComponent(new URL(url).pathname.slice(path.length).replace(/^\/|\/$/g, ''))
  if (id === '') return method === 'POST' ? await create(call) : notAllowed('POST')
  if (method === 'GET') return await (wantsEvents(call.request) ? follow(call, id) : look(call, id))
  return method === 'DELETE' ? await cancel(call, id) : notAllowed('GET, DELETE')
}

async function create({ request, service, context }: Call) {
  const topic = await topicIn(request)
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text: topic }] }
  const key = request.headers.get('idempotency-key')
  const once = key ? { ...context, idempotencyKey: key } : context
  if (wantsEvents(request)) {
    const left = new AbortController()
    const items = service.sendStreamingMessage({ message }, { ...once, signal: left.signal })
    return sse(eventsOf(items, service, context), left)
  }
  const isAsync = /\brespond-async\b/i.test(request.headers.get('prefer') ?? '')
  const sent = await service.sendMessage({ message, configuration: { returnImmediately: isAsync } }, once)
  if (!('task' in sent)) throw new A2AError('INTERNAL_ERROR', 'The workflow created no task')
  const location = `${path}/${sent.task.id}`
  if (isAsync) return Response.json(viewOf(sent.task), { status: 202, headers: { location } })
  const view = viewOf(sent.task)
  // The caller waits for a document, so a run without one is a failure.
  return Response.json(view, { status: view.error?.code ?? 200, headers: { location } })
}

async function look({ service, context }: Call, id: string) {
  return Response.json(viewOf(await service.getTask({ id }, context)))
}

async function follow({ request, service, context }: Call, id: string) {
  await service.getTask({ id }, context) // reject unauthorized readers before the stream starts
  const seen = request.headers.get('last-event-id') ?? undefined
  // `EventSource` stops reconnecting after 204 only.
  if (seen === endId) return new Response(null, { status: 204 })
  const after = Number(seen)
  const left = new AbortController()
  const resumed = Number.isInteger(after) ? { ...context, resumeAfter: after } : context
  return sse(eventsOf(service.subscribeToTask({ id }, { ...resumed, signal: left.signal }), service, context, id), left)
}

async function cancel({ service, context }: Call, id: string) {
  return Response.json(viewOf(await service.cancelTask({ id }, context)))
}

function wantsEvents(request: Request) {
  const { searchParams } = new URL(request.url)
  return searchParams.has('stream') || /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '')
}

async function topicIn(request: Request) {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    throw new A2AError('CONTENT_TYPE_NOT_SUPPORTED', 'Send {"topic": "…"} as application/json')
  const text = await readText(request)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new A2AError('PARSE_ERROR', 'The body is not valid JSON')
  }
  const topic = typeof body === 'object' && body !== null && 'topic' in body ? body.topic : undefined
  if (typeof topic !== 'string' || topic.trim() === '')
    throw new A2AError('INVALID_PARAMS', 'Send {"topic": "…"}: what the document is about')
  if (topic.length > maxTopicLength)
    throw new A2AError(
      'INVALID_PARAMS',
      `A topic has at most ${maxTopicLength} characters; this one has ${topic.length}`,
    )
  return topic.trim()
}

/** Reads the body up to the limit. */
async function readText(request: Request) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.length > maxBodyLength)
      throw new A2AError('PAYLOAD_TOO_LARGE', `A request has at most ${maxBodyLength} bytes`)
  }
  return text + decoder.decode()
}

const statuses: Partial<Record<ErrorCode, number>> = {
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

/** Returns a response for errors of the caller. Other errors are thrown again and logged. */
function refusal(error: unknown) {
  const code = error instanceof A2AError ? statuses[error.code] : undefined
  if (!(error instanceof A2AError) || code === undefined) throw error
  const { retryAfterSeconds } = error.details
  return Response.json(
    { error: { code, status: error.code, message: error.message, details: [] } },
    { status: code, ...(retryAfterSeconds && { headers: { 'retry-after': String(retryAfterSeconds) } }) },
  )
}

function notAllowed(allow: string) {
  const error = { code: 405, status: 'METHOD_NOT_ALLOWED', message: `Allowed methods: ${allow}`, details: [] }
  return Response.json({ error }, { status: 405, headers: { allow } })
}
