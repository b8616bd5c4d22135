/** OpenAI's API in front of the agents of a port: the name of an agent is the name of a model. */
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import type { Struct } from '../../model/part.js'
import type { Endpoint, Visit } from '../../server/endpoints.js'
import type { Exchange, HttpAnswer } from '../../transports/exchange.js'
import { answerChat } from './chat.js'
import { ApiError, errorAnswer, invalidParam } from './errors.js'
import { inputOf } from './input.js'
import { conversationId, type ResponseRequest, readChatRequest, readResponseRequest } from './requests.js'
import {
  cancelResponse,
  json,
  listInputItems,
  presentResponse,
  responseStream,
  retrieveResponse,
  wholeResponse,
} from './responses.js'
import {
  agentNamed,
  type Destination,
  destinationAfter,
  destinationIn,
  isError,
  type Outgoing,
  readResponseId,
  startTurn,
} from './turns.js'

/** Options of `openAiEndpoint`. */
export interface OpenAiEndpointOptions {
  /**
   * Headers that name the chat of a request, such as `X-OpenWebUI-Chat-Id`. Requests with the same value share an A2A
   * context: only the newest message is sent to the agent, and it answers the agent's open question. A header identifies a
   * chat of the authenticated caller, never the caller. Default: none.
   */
  readonly contextHeaders?: readonly string[]
}

const optionNames = { contextHeaders: 'strings' } satisfies NamesOf<OpenAiEndpointOptions>

const models = '/v1/models'
const chat = '/v1/chat/completions'
const responses = '/v1/responses'

/**
 * Serves the agents of a port as models of OpenAI's API: `/v1/models`, `/v1/chat/completions` and `/v1/responses`.
 *
 * ```ts
 * await serve(tailor, { endpoints: [openAiEndpoint()] })
 * ```
 */
export function openAiEndpoint(options: OpenAiEndpointOptions = {}): Endpoint {
  assertOptions('openAiEndpoint', options, optionNames)
  const { contextHeaders = [] } = options
  return {
    name: 'openai',
    paths: [models, chat, responses],
    answer: (exchange, visit) => answer(exchange, visit, contextHeaders),
    refuse: (error) => errorAnswer(error),
  }
}

async function answer(exchange: Exchange, visit: Visit, contextHeaders: readonly string[]): Promise<HttpAnswer> {
  const { method } = exchange
  const { path } = visit
  if (path === models && method === 'GET')
    return json({ object: 'list', data: [...visit.agents.keys()].map(modelOf(visit)) })
  if (path.startsWith(`${models}/`) && method === 'GET') {
    const name = decoded(path.slice(models.length + 1))
    agentNamed(name, visit)
    return json(modelOf(visit)(name))
  }
  if (path === chat && method === 'POST') return await createChat(exchange, visit, contextHeaders)
  if (path === responses && method === 'POST') return await createResponse(exchange, visit, contextHeaders)
  const [id = '', action, ...rest] = path.slice(responses.length + 1).split('/')
  if (!path.startsWith(`${responses}/`) || rest.length > 0) throw unknownUrl(method)
  const name = decoded(id)
  if (action === undefined && method === 'GET')
    return await retrieveResponse(name, new URLSearchParams(exchange.query), visit)
  if (action === 'cancel' && method === 'POST') return await cancelResponse(name, visit)
  if (action === 'input_items' && method === 'GET') return await listInputItems(name, visit)
  if (action === undefined && method === 'DELETE')
    throw new ApiError('UNSUPPORTED_OPERATION', 'Responses cannot be deleted: the server removes them by age', {
      status: 405,
    })
  throw unknownUrl(method)
}

function unknownUrl(method: string): ApiError {
  return new ApiError('METHOD_NOT_FOUND', `Unknown request URL: this API has no ${method} here`, {
    code: 'unknown_url',
  })
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function modelOf({ agents }: Visit): (name: string) => Struct {
  return (name) => ({
    id: name,
    object: 'model',
    created: 0,
    owned_by: agents.get(name)?.card.provider?.organization ?? 'dragoman',
  })
}

async function createChat(exchange: Exchange, visit: Visit, contextHeaders: readonly string[]): Promise<HttpAnswer> {
  const request = readChatRequest(await visit.readJson())
  const agent = agentNamed(request.model, visit)
  const contextId = contextIn(exchange, contextHeaders)
  const { parts, instructions } = inputOf(request.entries, 'messages', contextId !== undefined)
  const destination = contextId === undefined ? { agent } : await destinationIn(agent, contextId, visit)
  const openai = { ...(instructions !== undefined && { instructions }), metadata: request.metadata }
  const turn = await startTurn(destination, { parts, openai, ...keyOf(exchange) }, visit)
  return await answerChat(turn, visit, request)
}

async function createResponse(
  exchange: Exchange,
  visit: Visit,
  contextHeaders: readonly string[],
): Promise<HttpAnswer> {
  const request = readResponseRequest(await visit.readJson())
  const { background, stream, previousResponseId, metadata } = request
  const contextId = request.conversation ?? contextIn(exchange, contextHeaders)
  const isContinued = previousResponseId !== undefined || contextId !== undefined
  const input = inputOf(request.entries, 'input', isContinued)
  const destination = await destinationOf(request, contextId, visit)
  const instructions = [request.instructions, input.instructions].filter((each) => each !== undefined).join('\n\n')
  const openai: Struct = {
    background,
    metadata,
    ...(instructions !== '' && { instructions }),
    ...(previousResponseId !== undefined && { previous_response_id: previousResponseId }),
  }
  const turn = await startTurn(destination, { parts: input.parts, openai, ...keyOf(exchange) }, visit)
  if (stream) return await responseStream(turn, visit)
  return background ? await presentResponse(turn, visit) : await wholeResponse(turn, visit)
}

async function destinationOf(
  { model, previousResponseId }: ResponseRequest,
  contextId: string | undefined,
  visit: Visit,
): Promise<Destination> {
  if (previousResponseId !== undefined) {
    const previous = readResponseId(previousResponseId, visit)
    if (!previous) throw previousNotFound()
    const agent = model === undefined ? previous.agent : agentNamed(model, visit)
    return await destinationAfter(previous, agent, visit).catch((error: unknown) => {
      throw isError(error, 'TASK_NOT_FOUND') ? previousNotFound() : error
    })
  }
  if (model === undefined) throw invalidParam('model', 'is required', 'missing_required_parameter')
  const agent = agentNamed(model, visit)
  return contextId === undefined ? { agent } : await destinationIn(agent, contextId, visit)
}

function previousNotFound(): ApiError {
  return invalidParam('previous_response_id', 'names a response that is not found', 'previous_response_not_found')
}

/** The context of the first header that has a value. */
function contextIn({ headers }: Exchange, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name)?.trim()
    if (value) return conversationId(value, name)
  }
  return undefined
}

function keyOf({ headers }: Exchange): Pick<Outgoing, 'idempotencyKey'> {
  const key = headers.get('idempotency-key')
  return key ? { idempotencyKey: key } : {}
}
