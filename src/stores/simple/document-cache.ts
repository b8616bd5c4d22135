import { nameOf, type SerializedDocument, textLength } from './document.js'

/** The documents of open tasks that changed last, by name. Their texts can be much longer than the tasks in memory. */
export class DocumentCache {
  readonly #maxLength: number
  readonly #documents = new Map<string, SerializedDocument>()
  #length = 0

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  get(name: string): SerializedDocument | undefined {
    return this.#documents.get(name)
  }

  set(document: SerializedDocument): void {
    const name = nameOf(document.key)
    this.delete(name)
    this.#documents.set(name, document)
    this.#length += textLength(document)
    for (const oldest of this.#documents.keys()) {
      if (this.#length <= this.#maxLength) return
      this.delete(oldest)
    }
  }

  delete(name: string): void {
    const document = this.#documents.get(name)
    if (!document) return
    this.#documents.delete(name)
    this.#length -= textLength(document)
  }
}
