import type { ClientCardForm, DialectOutline } from '../client-dialect.js'
import { hasAny, isVersion, type Json, listsInterfaces, statedVersion } from '../recognise.js'
import { facts, goFacts } from './facts.js'

export const outline = {
  ...facts,
  bindings: ['JSONRPC'],
  card: { recognise: recogniseCard, alternatives: ['v0.3'] },
  omitsTaskOnSubscribe: true,
} as const satisfies DialectOutline

/** v0.1 of the community Go library. */
export const goOutline = {
  ...goFacts,
  bindings: ['JSONRPC'],
  card: { recognise: recogniseGoCard, alternatives: ['v0.1', 'v0.3'] },
  omitsTaskOnSubscribe: true,
} as const satisfies DialectOutline

/** A card with one address that no other dialect recognises is read as v0.1's. */
function recogniseCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  const stated = statedVersion(card)
  if (listsInterfaces(card)) return undefined
  if (stated === '') return 'possible'
  return isVersion(stated, '0.1') ? 'certain' : undefined
}

/** Only the Go library's cards have `iconUri`. */
function recogniseGoCard(card: Json): ReturnType<ClientCardForm['recognise']> {
  return recogniseCard(card) === 'possible' && hasAny(card, 'iconUri') ? 'likely' : undefined
}
