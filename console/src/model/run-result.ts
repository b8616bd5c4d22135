/** What a run was for, among everything it has made. Pure. */
import type { ArtifactView } from './task-view.js'

export const graphId = 'workflow-graph'

export interface RunResult {
  readonly main: ArtifactView | undefined
  readonly others: readonly ArtifactView[]
}

/** What the run itself returned; where it returned nothing, what there is most to read of. */
export function resultOf(artifacts: Iterable<ArtifactView>): RunResult {
  const made = [...artifacts].filter(({ id }) => id !== graphId)
  // What a step made carries the step's name before its own.
  const own = made.filter(({ id }) => !id.includes('/'))
  const main = own.at(-1) ?? made.toSorted((one, other) => textIn(other).length - textIn(one).length)[0]
  return { main, others: made.filter((artifact) => artifact !== main) }
}

export function textIn({ blocks }: ArtifactView): string {
  return blocks.filter((block) => typeof block === 'string').join('\n\n')
}
