/** v1.0 as callers speak it. */
import { isObject } from '../../model/is-object.js'
import { type Operation, operations as table } from '../../model/operations.js'
import type { ClientDialect, RequestCodec, RestRequestCodec, StreamDecoder, StreamRequest } from '../client-dialect.js'
import { createStreamDecoder } from '../gaps.js'
import { meaningsOf, readGrpcError, readHttpError, readRpcError } from '../peer-error.js'
import { listsInterfaces } from '../recognise.js'
import { decodeEvent, decoders } from './client-answers.js'
import { restRequests } from './client-requests.js'
import { errors } from './errors.js'
import { facts } from './facts.js'
import { decodeCard } from './read-card.js'
import { toV1Request } from './v1-members.js'

const names = Object.keys(table) as Operation[]

function eachOperation<C>(make: (name: Operation) => C): Readonly<Record<Operation, C>> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Operation, C> // the names are all there are
}

const methods = eachOperation<string>((name) => table[name].name)

/** The model is v1.0's JSON: requests go out as they are, without members of older versions. */
const requests = eachOperation<RequestCodec>((name) => ({
  encode: (request) => toV1Request(name, request),
  decode: decoders[name],
}))

const restOperations = eachOperation<RestRequestCodec>((name) => ({
  encode: (request, facts) => restRequests[name](toV1Request(name, request), facts),
  decode: decoders[name],
}))

/** The end of the connection is the end of the stream (R-STRM-12). */
function createDecoder(stream: StreamRequest): StreamDecoder {
  return createStreamDecoder(stream, { decode: decodeEvent })
}

const eventMembers = ['task', 'message', 'statusUpdate', 'artifactUpdate']

const meanings = meaningsOf(errors)

export const v1Client: ClientDialect = {
  ...facts,
  jsonrpc: {
    methods,
    operations: requests,
    createStreamDecoder: createDecoder,
    decodeError: (error, status) => readRpcError(error, meanings, status),
  },
  rest: {
    operations: restOperations,
    createStreamDecoder: createDecoder,
    decodeError: (status, body) => readHttpError(status, body, meanings),
  },
  grpc: {
    service: 'lf.a2a.v1.A2AService',
    rpcs: methods,
    operations: requests,
    createStreamDecoder: createDecoder,
    decodeError: readGrpcError,
  },
  card: { recognise: (card) => (listsInterfaces(card) ? 'certain' : undefined), decode: decodeCard },
  toPushFrame: (body) => (eventMembers.some((name) => isObject(body[name])) ? body : undefined),
}
