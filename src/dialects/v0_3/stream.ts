/** Events keep no state here: each one is translated by itself. */
import type { StreamItem } from '../../model/service.js'
import type { StreamEncoder } from '../dialect.js'
import { jsonSpelling, protoJsonSpelling, protoSpelling, type Wire } from './spelling.js'
import { encodeEvent } from './tasks.js'

export const jsonStream: StreamEncoder = { encode: ({ event }) => JSON.stringify(encodeEvent(event, jsonSpelling)) }

export const restStream: StreamEncoder = {
  encode: ({ event }) => JSON.stringify(encodeEvent(event, protoJsonSpelling)),
}

export function encodeGrpcItem({ event }: StreamItem): Wire {
  return encodeEvent(event, protoSpelling)
}
