/** The client's side of v0.3 and v0.2. */
import type { Operation } from '../../model/operations.js'
import { createStreamDecoder as createChatDecoder } from '../chat-rpc/read-stream.js'
import { isStreamResult } from '../chat-rpc/stream-result.js'
import type {
  ClientCardForm,
  ClientDialect,
  RequestCodec,
  RestRequestCodec,
  StreamDecoder,
  StreamRequest,
} from '../client-dialect.js'
import { meaningsOf, readGrpcError, readHttpError, readRpcError } from '../peer-error.js'
import { hasAny, isVersion, type Json, listsInterfaces, statedVersion } from '../recognise.js'
import { decodeCard } from './card.js'
import { decodersOf, streamDecoderOf } from './client-answers.js'
import {
  grpcRequests,
  grpcSpellingFor,
  jsonRequests,
  jsonSpellingFor,
  restRequests,
  restSpellingFor,
  type SpellingFor,
} from './client-requests.js'
import { errors } from './errors.js'
import { facts } from './facts.js'

type Operations<C> = { readonly [O in Operation]?: C }

/** What has no request in a form is not in its table. */
function codecs<Encode>(
  requests: Operations<Encode>,
  spellingFor: SpellingFor,
): Operations<{ readonly encode: Encode; readonly decode: RequestCodec['decode'] }> {
  const decoders = decodersOf(spellingFor)
  const entries = Object.entries(requests) as [Operation, Encode][] // the keys of that record are operations
  return Object.fromEntries(entries.map(([name, encode]) => [name, { encode, decode: decoders[name] }]))
}

const methods = {
  sendMessage: 'message/send',
  sendStreamingMessage: 'message/stream',
  getTask: 'tasks/get',
  listTasks: 'tasks/list',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  getTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  listTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  deleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  getExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
} as const

const rpcs = {
  sendMessage: 'SendMessage',
  sendStreamingMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  cancelTask: 'CancelTask',
  subscribeToTask: 'TaskSubscription',
  createTaskPushNotificationConfig: 'CreateTaskPushNotificationConfig',
  getTaskPushNotificationConfig: 'GetTaskPushNotificationConfig',
  listTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  deleteTaskPushNotificationConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedAgentCard: 'GetAgentCard',
} as const

const meanings = meaningsOf(errors)

const createEventDecoder = streamDecoderOf(jsonSpellingFor)

/** Servers of chat-rpc have the card and the methods of 0.3. The first frame shows whose stream it is. */
function createJsonRpcStreamDecoder(stream: StreamRequest): StreamDecoder {
  let decoder: StreamDecoder | undefined
  return {
    decode(frame) {
      decoder ??= isStreamResult(frame.data) ? createChatDecoder(stream) : createEventDecoder(stream)
      return decoder.decode(frame)
    },
    get isOver() {
      return decoder?.isOver === true
    },
  }
}

export const v0_3Client: ClientDialect = {
  ...facts,
  jsonrpc: {
    methods,
    operations: codecs<RequestCodec['encode']>(jsonRequests, jsonSpellingFor),
    createStreamDecoder: createJsonRpcStreamDecoder,
    decodeError: (error, status) => readRpcError(error, meanings, status),
  },
  rest: {
    operations: codecs<RestRequestCodec['encode']>(restRequests, restSpellingFor),
    createStreamDecoder: streamDecoderOf(restSpellingFor),
    decodeError: (status, body) => readHttpError(status, body, meanings),
  },
  grpc: {
    service: 'a2a.v1.A2AService',
    rpcs,
    operations: codecs<RequestCodec['encode']>(grpcRequests, grpcSpellingFor),
    createStreamDecoder: streamDecoderOf(grpcSpellingFor),
    decodeError: readGrpcError,
  },
  card: { recognise: recogniseCard, decode: decodeCard, alternatives: ['v0.1'] },
  toPushFrame: (body) => (typeof body.kind === 'string' ? body : undefined),
}

/** Cards that state another version and one address are read as v0.3's (RM-CARD-5). Only v0.2 and v0.3 name transports. */
function recogniseCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  const stated = statedVersion(card)
  if (listsInterfaces(card) || isVersion(stated, '0.1')) return undefined
  if (stated !== '' || hasAny(card, 'preferredTransport', 'additionalInterfaces')) return 'certain'
  return hasAny(card, 'securitySchemes') ? 'likely' : undefined
}
