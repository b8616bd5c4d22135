/** `/v1/responses`: turns as responses. A client that leaves does not cancel: it can resume the stream of the response. */
import type { TurnEvent } from '../../client/read-turn.js'
import type { A2AError } from '../../model/errors.js'
import type { Part, Struct } from '../../model/part.js'
import type { Visit } from '../../server/endpoints.js'
import { type HttpAnswer, jsonHeaders } from '../../transports/exchange.js'
import { frame } from '../../transports/sse.js'
import { fileUrl } from '../file-source.js'
import { ApiError, errorBody, invalidParam } from './errors.js'
import { type ResponseEvent, ResponseWriter } from './response-writer.js'
import { findTurn, followTurn, isError, pastOf, type StartedTurn } from './turns.js'

export function json(value: unknown): HttpAnswer {
  return { status: 200, headers: jsonHeaders, body: JSON.stringify(value) }
}

/** Answers with the response when its turn has ended. */
export async function wholeResponse(turn: StartedTurn, { caller, signal }: Visit): Promise<HttpAnswer> {
  return json((await written(turn, followTurn(turn, { caller, signal }))).response)
}

/** Answers with the response as it is now. */
export async function presentResponse(turn: StartedTurn, visit: Visit): Promise<HttpAnswer> {
  return json((await written(turn, pastOf(turn, visit))).response)
}

async function written(turn: StartedTurn, events: AsyncIterable<TurnEvent>): Promise<ResponseWriter> {
  const writer = new ResponseWriter(turn)
  for await (const event of events) writer.write(event)
  return writer
}

/** Answers with the events of the response after a sequence number. */
export async function responseStream(turn: StartedTurn, visit: Visit, startingAfter = -1): Promise<HttpAnswer> {
  const { caller, signal } = visit
  const writer = new ResponseWriter(turn)
  let onOpen = () => {}
  const opened = new Promise<void>((resolve) => {
    onOpen = resolve
  })
  async function* events(): AsyncGenerator<ResponseEvent, void, void> {
    for await (const event of followTurn(turn, { caller, signal, onOpen }))
      for (const each of writer.write(event)) if (each.sequence_number > startingAfter) yield each
  }
  return await visit.stream({
    items: events(),
    // The rest of a turn may begin much later.
    opened,
    encode: (event) => frame(JSON.stringify(event), undefined, event.type),
    encodeError: (error) => frame(JSON.stringify(errorEvent(error, writer.lastSequence)), undefined, 'error'),
  })
}

/** The error has the number of the last event, so that a client resumes after that one. */
function errorEvent(error: A2AError, sequence: number): ResponseEvent {
  const { message, code, param } = errorBody(error)
  return { type: 'error', sequence_number: Math.max(0, sequence), code, message, param }
}

/** `GET /v1/responses/{id}` */
export async function retrieveResponse(id: string, query: URLSearchParams, visit: Visit): Promise<HttpAnswer> {
  const turn = await findTurn(id, visit)
  const startingAfter = query.get('starting_after')
  if (query.get('stream') !== 'true') {
    if (startingAfter !== null) throw invalidParam('starting_after', 'needs stream=true')
    return await presentResponse(turn, visit)
  }
  if (startingAfter === null) return await responseStream(turn, visit)
  if (!/^\d{1,15}$/.test(startingAfter)) throw invalidParam('starting_after', 'must be a sequence number')
  return await responseStream(turn, visit, Number(startingAfter))
}

/** `POST /v1/responses/{id}/cancel`. Cancelling twice is no error. */
export async function cancelResponse(id: string, visit: Visit): Promise<HttpAnswer> {
  const turn = await findTurn(id, visit)
  const before = await written(turn, pastOf(turn, visit))
  if (!before.isEnded) {
    await turn.agent.service.cancelTask({ id: turn.taskId }, { caller: visit.caller }).catch((error: unknown) => {
      // The turn has ended meanwhile.
      if (!isError(error, 'TASK_NOT_CANCELABLE')) throw error
    })
  }
  const now = before.isEnded ? before : await written(turn, pastOf(turn, visit))
  if (now.status === 'cancelled') return json(now.response)
  throw new ApiError('TASK_NOT_CANCELABLE', `Cannot cancel a response that is ${now.status}`, { param: 'response_id' })
}

/** `GET /v1/responses/{id}/input_items` */
export async function listInputItems(id: string, visit: Visit): Promise<HttpAnswer> {
  const { message } = await findTurn(id, visit)
  const content = message.parts.map(contentOf)
  const item = { id: message.messageId, type: 'message', role: 'user', status: 'completed', content }
  const data = content.length > 0 ? [item] : []
  const ends = data.length > 0 ? { first_id: item.id, last_id: item.id } : { first_id: null, last_id: null }
  return json({ object: 'list', data, ...ends, has_more: false })
}

function contentOf(part: Part): Struct {
  if ('text' in part) return { type: 'input_text', text: part.text }
  if ('data' in part) return { type: 'input_text', text: JSON.stringify(part.data) }
  const { filename = 'file' } = part
  if ('url' in part) return { type: 'input_file', filename, file_url: part.url }
  return { type: 'input_file', filename, file_data: fileUrl(part) }
}
