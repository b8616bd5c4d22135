import type { Commit } from './store.js'
import { type ChangeFeed, type TaskKey, taskKeyText } from './store.js'

/** Callbacks by task, by agent and by collection of records. */
export class Watchers implements ChangeFeed {
  readonly #tasks = new Map<string, Set<(seq: number) => void>>()
  readonly #agents = new Map<string, Set<() => void>>()
  readonly #deliveries = new Map<string, Set<() => void>>()
  readonly #collections = new Map<string, Set<() => void>>()

  watchTask(key: TaskKey, onChange: (seq: number) => void): () => void {
    return this.watchId(taskKeyText(key), onChange)
  }

  /** For stores that name tasks in another way than `taskId`. */
  watchId(id: string, onChange: (seq: number) => void): () => void {
    return add(this.#tasks, id, onChange)
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    return add(this.#agents, agent, onChange)
  }

  watchDeliveries(agent: string, onChange: () => void): () => void {
    return add(this.#deliveries, agent, onChange)
  }

  watchCollection(name: string, onChange: () => void): () => void {
    return add(this.#collections, name, onChange)
  }

  get isIdle(): boolean {
    return [this.#tasks, this.#agents, this.#deliveries, this.#collections].every(({ size }) => size === 0)
  }

  /** Whether a task is watched. If not, the caller need not make its id. */
  get hasTasks(): boolean {
    return this.#tasks.size > 0
  }

  task(id: string, seq: number): void {
    const watchers = this.#tasks.get(id)
    if (watchers) for (const onChange of [...watchers]) onChange(seq)
  }

  runnable(agent: string): void {
    callAll(this.#agents.get(agent))
  }

  deliveries(agent: string): void {
    callAll(this.#deliveries.get(agent))
  }

  collection(name: string): void {
    callAll(this.#collections.get(name))
  }

  /** Notifies all watchers of agents and collections, after a change of unknown content. */
  everything(): void {
    for (const agent of [...this.#agents.keys()]) this.runnable(agent)
    for (const agent of [...this.#deliveries.keys()]) this.deliveries(agent)
    for (const name of [...this.#collections.keys()]) this.collection(name)
  }
}

function callAll(watchers: ReadonlySet<() => void> | undefined): void {
  if (watchers) for (const onChange of [...watchers]) onChange()
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

/** Watchers of commits. Without any, the clock is not read. */
export class CommitWatchers {
  readonly #watchers = new Set<{ readonly onCommit: (commit: Commit) => void }>()

  watch(onCommit: (commit: Commit) => void): () => void {
    const watcher = { onCommit }
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** The start time of a commit. Undefined without watchers. */
  begin(): number | undefined {
    return this.#watchers.size > 0 ? performance.now() : undefined
  }

  committed(steps: number, begunMs: number | undefined): void {
    if (begunMs === undefined) return
    const commit = { steps, durationMs: performance.now() - begunMs }
    for (const { onCommit } of this.#watchers) onCommit(commit)
  }
}
