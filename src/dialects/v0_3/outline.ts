import type { ClientCardForm, DialectOutline } from '../client-dialect.js'
import { hasAny, isVersion, type Json, listsInterfaces, statedVersion } from '../recognise.js'
import { facts } from './facts.js'

export const outline = {
  ...facts,
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  card: { recognise: recogniseCard, alternatives: ['v0.1'] },
} as const satisfies DialectOutline

/** Cards that state another version and one address are read as v0.3's (RM-CARD-5). Only v0.2 and v0.3 name transports. */
function recogniseCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  const stated = statedVersion(card)
  if (listsInterfaces(card) || isVersion(stated, '0.1')) return undefined
  if (stated !== '' || hasAny(card, 'preferredTransport', 'additionalInterfaces')) return 'certain'
  return hasAny(card, 'securitySchemes') ? 'likely' : undefined
}
