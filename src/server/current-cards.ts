/**
 * The cards of an agent as they are now: spelled and signed when the server starts, and again when its signer has
 * other keys. While they cannot be signed anew, the former ones stay. Anybody may read a card, so readers neither wait
 * for a signer nor have it sign as often as they ask.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Signer } from '../signing/signer.js'
import type { SpelledCards } from './card-forms.js'

export interface CurrentCards {
  /** Those the server started with: what there are cards for does not change. */
  readonly first: SpelledCards
  /** For everybody: what there is, at once. */
  shown(): SpelledCards
  /** For those who ask rarely and tell others: what is being made is waited for. */
  now(): Promise<SpelledCards>
}

/** A signer that fails is not asked more often. */
const betweenAttemptsMs = 5000
/** One that says nothing has failed. */
const longestAttemptMs = 30_000

export async function currentCards(
  spell: () => Promise<SpelledCards>,
  signer: Signer | undefined,
  onFailure: (error: unknown) => void,
): Promise<CurrentCards> {
  const keysNow = () => signer && JSON.stringify(signer.jwks())
  let keys = keysNow()
  const first = await spell()
  let cards = first
  let making: Promise<void> | undefined
  let failedAt = Number.NEGATIVE_INFINITY

  const make = async (wanted: string | undefined): Promise<void> => {
    try {
      cards = await within(longestAttemptMs, spell())
      keys = wanted
    } catch (error) {
      failedAt = performance.now()
      onFailure(error)
    }
  }

  const begin = (): void => {
    if (making || performance.now() - failedAt < betweenAttemptsMs) return
    const wanted = keysNow()
    if (wanted === keys) return
    making = make(wanted).finally(() => {
      making = undefined
    })
  }

  return {
    first,
    shown() {
      begin()
      return cards
    },
    async now() {
      begin()
      await making
      return cards
    },
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = pause(ms, undefined, { ref: false, signal: over.signal }).then(() => {
    throw new Error(`The signer has not answered for ${ms / 1000} seconds`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}
