/** Caches encoded agents by their revision, with a limit on the total length. */
import type { CatalogAgent } from '../catalog.js'
import { agentId } from '../documents.js'

/** In characters, like the next limit. */
const maxCacheLength = 16 * 1024 * 1024
const maxEntryLength = 256 * 1024

interface CachedResponse {
  readonly revision: number
  readonly text: string
}

export class ResponseCache {
  /** In order of the last use. */
  readonly #cached = new Map<string, CachedResponse>()
  #length = 0

  /** Number of cached characters. */
  get length(): number {
    return this.#length
  }

  async get(agent: CatalogAgent, variant: string, make: () => Promise<string>): Promise<string> {
    const name = `${agentId(agent.key)}\n${variant}`
    const known = this.#cached.get(name)
    this.#delete(name)
    const text = known?.revision === agent.revision ? known.text : await make()
    if (text.length <= maxEntryLength) this.#keep(name, { revision: agent.revision, text })
    return text
  }

  #keep(name: string, entry: CachedResponse): void {
    this.#delete(name) // a concurrent request may have cached the same
    this.#cached.set(name, entry)
    this.#length += entry.text.length
    for (const oldest of this.#cached.keys()) {
      if (this.#length <= maxCacheLength) break
      this.#delete(oldest)
    }
  }

  #delete(name: string): void {
    this.#length -= this.#cached.get(name)?.text.length ?? 0
    this.#cached.delete(name)
  }
}
