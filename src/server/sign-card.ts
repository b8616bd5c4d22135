/** Cards with signatures: each content is signed once and remembered, never signed for every request. */
import type { CardSigningForm } from '../model/agent-card.js'
import type { Signer } from '../signing/signer.js'

/** Where the keys are published, below the server's address. */
export const jwksPath = '/.well-known/jwks.json'

/** Adds a signature over each of the forms to the card; returns the card itself if there are no keys. */
export type SignCard = <Card extends object>(card: Card, forms: readonly CardSigningForm[]) => Promise<Card>

/** Extended cards may differ from caller to caller; the ones used last are remembered. */
const mostRemembered = 256

/** `url` is the server's address, without a slash at its end. */
export function createCardSigning(signer: Signer | undefined, url: string): SignCard {
  if (!signer) return async (card) => card
  const jku = `${url}${jwksPath}`
  const known = new Map<string, Promise<object>>()

  const remember = (key: string, signed: Promise<object>) => {
    known.delete(key)
    known.set(key, signed)
    const [oldest] = known.keys()
    if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest)
  }

  return async <Card extends object>(card: Card, forms: readonly CardSigningForm[]): Promise<Card> => {
    // Other keys, other signatures.
    const key = await digest(JSON.stringify([forms, card, signer.jwks()]))
    const signed = known.get(key) ?? signer.signCard(card, jku, forms)
    remember(key, signed)
    try {
      return (await signed) as Card // it was made of a card with this very text
    } catch (error) {
      // A signer that is elsewhere may be back for the next reader.
      known.delete(key)
      throw error
    }
  }
}

async function digest(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('base64url')
}
