/** Golden wire files of 0.3, one set per binding. */
import { goldenWire, type Shape } from '../../../test/wire/golden.js'
import type { Operation } from '../../model/operations.js'
import type { StreamCall, StreamEncoder } from '../dialect.js'
import { encodeCard } from './card.js'
import type { v0_3 } from './index.js'
import { decodeMessage, decodeSendRequest, encodeMessage, encodeSendRequest } from './messages.js'
import { grpcOperations, jsonOperations, methods, restOperations, routes, rpcs } from './operations.js'
import { decodePart, encodePart } from './parts.js'
import { decodePushConfig, encodePushConfig } from './push-config.js'
import { decodeCard } from './read-card.js'
import { createGrpcStream, createJsonStream, createRestStream } from './stream.js'
import {
  decodeArtifact,
  decodeEvent,
  decodeStatus,
  decodeTask,
  encodeArtifact,
  encodeEvent,
  encodeStatus,
  encodeTask,
} from './tasks.js'
import { jsonForm, protoForm, protoJsonForm, type WireForm } from './wire-form.js'

function shapes(as: WireForm): Record<string, Shape> {
  const both = <M>(decode: (wire: unknown, as: WireForm) => M, encode: (model: M, as: WireForm) => unknown): Shape => ({
    decode: (wire) => decode(wire, as),
    encode: (model: never) => encode(model, as),
  })
  return {
    part: both(decodePart, encodePart),
    message: both(decodeMessage, encodeMessage),
    artifact: both(decodeArtifact, encodeArtifact),
    status: both(decodeStatus, encodeStatus),
    task: both(decodeTask, encodeTask),
    event: both(decodeEvent, encodeEvent),
    pushConfig: both(decodePushConfig, encodePushConfig),
    sendRequest: both(decodeSendRequest, encodeSendRequest),
    card: { decode: decodeCard, encode: encodeCard },
  }
}

const routeOperations = new Map(routes.map(({ method, path, operation }) => [`${method} ${path}`, operation]))

function golden(
  name: keyof Pick<typeof v0_3, 'jsonrpc' | 'rest' | 'grpc'>,
  as: WireForm,
  form: {
    readonly operations: Parameters<typeof goldenWire>[1]['operations']
    readonly calls: ReadonlyMap<string, Operation>
    readonly createStreamEncoder: (call: StreamCall) => StreamEncoder
  },
): void {
  goldenWire(`v0.3/${name}`, {
    shapes: shapes(as),
    operations: form.operations,
    operationOf: (call) => form.calls.get(call),
    createStreamEncoder: form.createStreamEncoder,
  })
}

golden('jsonrpc', jsonForm, {
  operations: jsonOperations,
  calls: methods,
  createStreamEncoder: createJsonStream,
})
golden('rest', protoJsonForm, {
  operations: restOperations,
  calls: routeOperations,
  createStreamEncoder: createRestStream,
})
golden('grpc', protoForm, {
  operations: grpcOperations,
  calls: rpcs,
  createStreamEncoder(call) {
    const encode = createGrpcStream(call)
    return { encode: (item) => JSON.stringify(encode(item)) }
  },
})
