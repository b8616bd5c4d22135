import type { Caller } from '../model/service.js'

/** Tokens that were verified, until they expire. */
export class TokenCache {
  readonly #known = new Map<string, { readonly caller: Caller; readonly untilMs: number }>()

  get(token: string): Caller | undefined {
    const found = this.#known.get(token)
    if (!found) return undefined
    if (Date.now() < found.untilMs) return found.caller
    this.#known.delete(token)
    return undefined
  }

  add(token: string, caller: Caller, expiresMs: number): void {
    // Only valid tokens come here, so that nobody can crowd others out without having many.
    if (this.#known.size >= mostTokens) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    this.#known.set(token, { caller, untilMs: Math.min(expiresMs, Date.now() + longestMs) })
  }
}

/** A few megabytes, at the usual size of tokens. */
const mostTokens = 2000

/** A key that its issuer withdrew is good for this much longer. */
const longestMs = 5 * 60_000
