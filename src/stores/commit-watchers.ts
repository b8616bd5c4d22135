import type { Commit } from './store.js'

/** Whoever wants to know of commits. While nobody does, not even the clock is looked at. */
export class CommitWatchers {
  readonly #watchers = new Set<{ readonly tell: (commit: Commit) => void }>()

  watch(onCommit: (commit: Commit) => void): () => void {
    const watcher = { tell: onCommit }
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** When it began; absent when nobody wants to know. */
  begin(): number | undefined {
    return this.#watchers.size > 0 ? performance.now() : undefined
  }

  committed(steps: number, begunMs: number | undefined): void {
    if (begunMs === undefined) return
    const commit = { steps, durationMs: performance.now() - begunMs }
    for (const { tell } of this.#watchers) tell(commit)
  }
}
