/** Answers that were put together before, as long as nothing has changed and there is room. */
import type { CatalogAgent } from '../catalog.js'
import { agentId } from '../documents.js'

/** In characters. */
const maxCacheLength = 16 * 1024 * 1024
const maxEntryLength = 256 * 1024

interface CachedResponse {
  readonly revision: number
  readonly text: string
}

export class ResponseCache {
  /** The one asked for last is the last. */
  readonly #held = new Map<string, CachedResponse>()
  #length = 0

  /** How many characters are held. */
  get length(): number {
    return this.#length
  }

  async get(agent: CatalogAgent, asked: string, make: () => Promise<string>): Promise<string> {
    const name = `${agentId(agent.key)}\n${asked}`
    const known = this.#held.get(name)
    this.#forget(name)
    const text = known?.revision === agent.revision ? known.text : await make()
    if (text.length <= maxEntryLength) this.#keep(name, { revision: agent.revision, text })
    return text
  }

  #keep(name: string, held: CachedResponse): void {
    this.#forget(name) // somebody else may have asked for the same meanwhile
    this.#held.set(name, held)
    this.#length += held.text.length
    for (const oldest of this.#held.keys()) {
      if (this.#length <= maxCacheLength) break
      this.#forget(oldest)
    }
  }

  #forget(name: string): void {
    this.#length -= this.#held.get(name)?.text.length ?? 0
    this.#held.delete(name)
  }
}
