/** Finds the result of a workflow run among its artifacts. */
import type { ArtifactView } from './task-view.js'

export const graphId = 'workflow-graph'

export interface RunResult {
  readonly main: ArtifactView | undefined
  readonly others: readonly ArtifactView[]
}

/** The artifact that the run returned, else the artifact with the longest text. */
export function resultOf(artifacts: Iterable<ArtifactView>): RunResult {
  const made = [...artifacts].filter(({ id }) => id !== graphId)
  // Artifacts of steps have the name of the step as prefix.
  const own = made.filter(({ id }) => !id.includes('/'))
  const main = own.at(-1) ?? made.toSorted((one, other) => textIn(other).length - textIn(one).length)[0]
  return { main, others: made.filter((artifact) => artifact !== main) }
}

export function textIn({ blocks }: ArtifactView): string {
  return blocks.filter((block) => typeof block === 'string').join('\n\n')
}
