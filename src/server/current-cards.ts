/**
 * The cards of an agent as they are now: spelled and signed when the server starts, and again when its signer has
 * other keys. While they cannot be signed anew, the former ones stay; every reader is another attempt.
 */
import type { Signer } from '../signing/signer.js'
import type { SpelledCards } from './card-forms.js'

export interface CurrentCards {
  /** Those the server started with: what there are cards for does not change. */
  readonly first: SpelledCards
  now(): Promise<SpelledCards>
}

export async function currentCards(
  spell: () => Promise<SpelledCards>,
  signer: Signer | undefined,
  onFailure: (error: unknown) => void,
): Promise<CurrentCards> {
  const keysNow = () => signer && JSON.stringify(signer.jwks())
  let keys = keysNow()
  const first = await spell()
  let cards = Promise.resolve(first)
  return {
    first,
    now() {
      const wanted = keysNow()
      if (wanted === keys) return cards
      const former = cards
      keys = wanted
      cards = spell().catch((error: unknown) => {
        keys = undefined
        onFailure(error)
        return former
      })
      return cards
    },
  }
}
