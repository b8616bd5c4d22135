/** Messages of 0.3 with fewer required members. */
import { isObject } from '../../model/is-object.js'
import type { Message } from '../../model/message.js'
import type { Struct } from '../../model/part.js'
import type { SendMessageRequest } from '../../model/service.js'
import type { CallFacts } from '../dialect.js'
import {
  decodeMessage as decodeMessageOf03,
  decodeSendRequest,
  encodeMessage as encodeMessageOf03,
  encodeSendRequest,
} from '../v0_3/messages.js'
import { jsonForm, type Wire } from '../v0_3/wire-form.js'

/** Only the message and its metadata are used: sends always wait for the result. */
export function decodeSendParams(params: unknown, facts: Pick<CallFacts, 'newId'>): SendMessageRequest {
  if (!isObject(params)) return decodeSendRequest(params, jsonForm)
  const { message, metadata } = params
  return decodeSendRequest({ message: withDefaults(message, facts), metadata }, jsonForm)
}

export function encodeSendParams({ message, metadata }: SendMessageRequest): Wire {
  return encodeSendRequest({ message, ...(metadata && { metadata }) }, jsonForm)
}

/** Decodes a response. Servers omit the role, which is always the agent's. */
export function decodeMessage(wire: unknown, facts: Pick<CallFacts, 'newId'>): Message {
  return decodeMessageOf03(withDefaults(wire, facts, 'agent'), jsonForm)
}

function withDefaults(wire: unknown, facts: Pick<CallFacts, 'newId'>, role?: string): unknown {
  if (!isObject(wire)) return wire
  const hasId = Boolean(wire.messageId ?? wire.message_id)
  const hasRole = role === undefined || Boolean(wire.role)
  if (hasId && hasRole) return wire
  return { ...wire, ...(!hasId && { messageId: facts.newId() }), ...(!hasRole && { role }) }
}

/** The response repeats the metadata of the request, so that traces can be followed (RL-L2-2). */
export function echoedMetadata(params: unknown): Struct {
  const metadata = isObject(params) ? params.metadata : undefined
  return isObject(metadata) ? (metadata as Struct) : {} // decoded with the request
}

export function encodeMessage(message: Message, echoed: Struct): Wire {
  return encodeMessageOf03({ ...message, metadata: { ...echoed, ...message.metadata } }, jsonForm)
}
