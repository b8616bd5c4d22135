import { goldenWire } from '../../../test/wire/golden.js'
import type { StreamResponse } from '../../model/event.js'
import { decodeOrThrow } from '../decode.js'
import type { RestForm } from '../dialect.js'
import { encodeTaskPushConfig, taskPushConfig } from '../v0_1/push-config.js'
import { encodeArtifact, readArtifact, toArtifact } from '../v0_1/tasks.js'
import { taskRest } from './index.js'
import { encodeMessage, encodeSendBody, readMessage, sendBody, toMessage, toSendRequest } from './messages.js'
import {
  encodeArtifactEvent,
  encodeStatus,
  encodeTask,
  readEvent,
  readStatus,
  readTask,
  toStatus,
  toTask,
  wireForm,
} from './tasks.js'

const form = taskRest.rest as RestForm // its only form
const newId = () => 'id-1'

goldenWire('task-rest', {
  ...form,
  operationOf: (call) => form.routes.find(({ method, path }) => `${method} ${path}` === call)?.operation,
  shapes: {
    message: { decode: (wire) => toMessage(decodeOrThrow(readMessage, wire), newId), encode: encodeMessage },
    sendBody: { decode: (wire) => toSendRequest(decodeOrThrow(sendBody, wire), newId), encode: encodeSendBody },
    status: { decode: (wire) => toStatus(decodeOrThrow(readStatus, wire), newId), encode: encodeStatus },
    artifact: {
      decode: (wire) => toArtifact(decodeOrThrow(readArtifact, wire)),
      encode: (model) => encodeArtifact(model, 0, wireForm),
    },
    task: { decode: (wire) => toTask(decodeOrThrow(readTask, wire), newId), encode: (model) => encodeTask(model) },
    event: {
      decode: (wire) => decodeOrThrow(readEvent(newId), wire),
      encode(model: StreamResponse) {
        if (!('artifactUpdate' in model)) throw new Error('Tasks are a shape of their own')
        return encodeArtifactEvent(model.artifactUpdate, 0)
      },
    },
    pushConfig: {
      decode: (wire) => decodeOrThrow(taskPushConfig, wire),
      encode: encodeTaskPushConfig,
    },
  },
})
