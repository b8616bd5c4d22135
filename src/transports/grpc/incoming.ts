/** Answers as bytes, read into the model. Every one of them is a stranger's. */
import type { StreamDecoder } from '../../dialects/client-dialect.js'
import type { StreamItem } from '../../model/service.js'
import { TransportError } from '../../model/transport-error.js'
import { addItems, readable } from '../peer-answer.js'
import { positionExtension } from '../transport.js'
import type { Route } from './outgoing.js'

export function decodeBytes({ rpc, name }: Route, bytes: Buffer): object {
  try {
    return rpc.response.decode(bytes)
  } catch (cause) {
    throw new TransportError('bad-answer', `The answer is no message of ${name}`, { cause })
  }
}

/** The events of one message of a stream. */
export function decodeItems(decoder: StreamDecoder, message: object): readonly StreamItem[] {
  const { data, seq } = takePosition(message)
  const items: StreamItem[] = []
  addItems(
    items,
    readable(() => decoder.decode({ data })),
    seq,
  )
  return items
}

interface Bearer {
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Takes an event's place in the log out of its metadata, where servers put it on this binding. */
function takePosition(message: object): { readonly data: object; readonly seq?: number } {
  for (const kind of ['artifactUpdate', 'statusUpdate', 'task']) {
    const bearer = (message as Readonly<Record<string, Bearer | undefined>>)[kind]
    if (!bearer) continue
    const seq = bearer.metadata?.[positionExtension]
    if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return { data: message }
    const { [positionExtension]: _, ...others } = bearer.metadata ?? {}
    const { metadata: __, ...bare } = bearer
    return { data: { [kind]: Object.keys(others).length > 0 ? { ...bare, metadata: others } : bare }, seq }
  }
  return { data: message }
}
