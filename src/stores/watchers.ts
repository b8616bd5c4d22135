/** Callbacks by task, by agent and by collection of records, for stores that can tell what changed. */
export class Watchers {
  readonly #tasks = new Map<string, Set<(seq: number) => void>>()
  readonly #agents = new Map<string, Set<() => void>>()
  readonly #collections = new Map<string, Set<() => void>>()

  watchTask(id: string, onChange: (seq: number) => void): () => void {
    return add(this.#tasks, id, onChange)
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    return add(this.#agents, agent, onChange)
  }

  watchCollection(name: string, onChange: () => void): () => void {
    return add(this.#collections, name, onChange)
  }

  get isIdle(): boolean {
    return this.#tasks.size === 0 && this.#agents.size === 0 && this.#collections.size === 0
  }

  task(id: string, seq: number): void {
    const watchers = this.#tasks.get(id)
    if (watchers) for (const onChange of [...watchers]) onChange(seq)
  }

  runnable(agent: string): void {
    const watchers = this.#agents.get(agent)
    if (watchers) for (const onChange of [...watchers]) onChange()
  }

  collection(name: string): void {
    const watchers = this.#collections.get(name)
    if (watchers) for (const onChange of [...watchers]) onChange()
  }

  /** Something changed and nobody knows what. */
  everything(): void {
    for (const agent of [...this.#agents.keys()]) this.runnable(agent)
    for (const name of [...this.#collections.keys()]) this.collection(name)
  }
}

function add<Callback>(map: Map<string, Set<Callback>>, id: string, onChange: Callback): () => void {
  let watchers = map.get(id)
  if (!watchers) {
    watchers = new Set()
    map.set(id, watchers)
  }
  watchers.add(onChange)
  return () => {
    watchers.delete(onChange)
    if (watchers.size === 0 && map.get(id) === watchers) map.delete(id)
  }
}
