import { goldenWire, type Shape } from '../../../test/wire/golden.js'
import type { StreamResponse } from '../../model/event.js'
import { decodeOrThrow } from '../decode.js'
import type { JsonRpcForm } from '../dialect.js'
import { v0_1, v0_1Go } from './index.js'
import { encodeMessage, encodeSendParams, readMessage, sendParams, toMessage, toSendRequest } from './messages.js'
import { encodePart, part } from './parts.js'
import { encodeTaskPushConfig, taskPushConfig } from './push-config.js'
import { encodeArtifactEvent, encodeStatusEvent, readEvent } from './stream.js'
import {
  encodeArtifact,
  encodeStatus,
  encodeTask,
  readArtifact,
  readStatus,
  readTask,
  toArtifact,
  toStatus,
  toTask,
} from './tasks.js'
import { go, standard, type WireForm } from './wire-form.js'

for (const [dialect, wireForm] of [
  [v0_1, standard],
  [v0_1Go, go],
] as const) {
  const form = dialect.jsonrpc as JsonRpcForm // both have a JSON-RPC form
  goldenWire(dialect.name, { ...form, shapes: shapesOf(wireForm), operationOf: (call) => form.methods.get(call) })
}

function shapesOf(wireForm: WireForm): Record<string, Shape> {
  return {
    part: {
      decode: (wire) => decodeOrThrow(part, wire),
      encode: (model) => encodePart(model, wireForm.messageParts),
    },
    message: {
      decode: (wire) => toMessage(decodeOrThrow(readMessage, wire), ids()),
      encode: (model) => encodeMessage(model, wireForm),
    },
    sendParams: {
      decode: (wire) => toSendRequest(decodeOrThrow(sendParams(wireForm), wire), ids(), wireForm),
      encode: (model) => encodeSendParams(model, () => 'id-2', wireForm),
    },
    pushConfig: {
      decode: (wire) => decodeOrThrow(taskPushConfig, wire),
      encode: (model) => encodeTaskPushConfig(model),
    },
    status: {
      decode(wire) {
        const read = decodeOrThrow(readStatus, wire)
        return toStatus(read, read.state, ids())
      },
      encode: (model) => encodeStatus(model, wireForm),
    },
    artifact: {
      decode: (wire) => toArtifact(decodeOrThrow(readArtifact, wire)),
      encode: (model) => encodeArtifact(model, 0, wireForm),
    },
    task: {
      decode: (wire) => toTask(decodeOrThrow(readTask, wire), ids()),
      encode: (model) => encodeTask(model, wireForm, true),
    },
    event: {
      decode: (wire) => decodeOrThrow(readEvent({ contextId: 's-1', newId: ids() }), wire),
      encode(model: StreamResponse) {
        if ('artifactUpdate' in model) return encodeArtifactEvent(model.artifactUpdate, 0, wireForm)
        if (!('statusUpdate' in model)) throw new Error('The streams of v0.1 show no such event')
        return encodeStatusEvent(
          model.statusUpdate,
          model.statusUpdate.status.state === 'TASK_STATE_COMPLETED',
          wireForm,
        )
      },
    },
  }
}

function ids(): () => string {
  let last = 0
  return () => `id-${++last}`
}
