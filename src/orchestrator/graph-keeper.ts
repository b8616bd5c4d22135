import type { ArtifactDraft } from '../engine/yields.js'
import { graphDraft } from './graph.js'
import type { StepRecord } from './step-record.js'

const shortestPauseMs = 100
/** Each update holds every node: the more there are, the less often they are told. */
const pausePerNodeMs = 2

/** Tells the graph when it has changed, not more often than it pays. */
export class GraphKeeper {
  readonly #workflow: string
  readonly #records: ReadonlyMap<string, StepRecord>
  readonly #tell: (draft: ArtifactDraft) => void
  #timer: NodeJS.Timeout | undefined
  #isChanged = false

  constructor(workflow: string, records: ReadonlyMap<string, StepRecord>, tell: (draft: ArtifactDraft) => void) {
    this.#workflow = workflow
    this.#records = records
    this.#tell = tell
  }

  changed(): void {
    this.#isChanged = true
    if (this.#timer) return
    this.#isChanged = false
    this.#tell(this.draft())
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        if (this.#isChanged) this.changed()
      },
      Math.max(shortestPauseMs, this.#records.size * pausePerNodeMs),
    )
  }

  /** The graph as it is now. */
  draft(): ArtifactDraft {
    return graphDraft(this.#workflow, this.#records)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#isChanged = false
  }
}
