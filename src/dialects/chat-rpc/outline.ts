import type { ClientCardForm, DialectOutline } from '../client-dialect.js'
import type { Json } from '../recognise.js'
import { facts, paths } from './facts.js'

export const outline = { ...facts, bindings: ['JSONRPC'], card: { recognise } } as const satisfies DialectOutline

/** chat-rpc cards are v0.3's, with the path of chat-rpc in the address. */
function recognise({ url }: Json): ReturnType<ClientCardForm['recognise']> {
  return typeof url === 'string' && url.endsWith(paths[0]) ? 'possible' : undefined
}
