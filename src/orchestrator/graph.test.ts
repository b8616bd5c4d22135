import { describe, expect, it } from 'vitest'
import { graphOf } from './graph.js'
import type { StepState } from './step-record.js'

const at = '2025-01-01T00:00:00.000Z'
const node = (id: string, state: StepState) => ({ id, kind: 'step', state, attempts: 1, startedAt: at })
const nodes = [node('done', 'completed'), node('under-way', 'running'), node('open', 'asking'), node('bad', 'failed')]
const artifacts = [{ artifactId: 'workflow-graph', parts: [{ data: { workflow: 'W', nodes, edges: [] } }] }]

describe('graphOf', () => {
  it.each(['TASK_STATE_WORKING', undefined] as const)(
    'returns the reported graph while the run continues: %s',
    (state) => {
      const run = { artifacts, ...(state && { status: { state, timestamp: at } }) }
      expect(graphOf(run)?.nodes.map((each) => each.state)).toEqual(['completed', 'running', 'asking', 'failed'])
    },
  )

  it('has no running nodes after the run has ended', () => {
    const timestamp = '2025-01-01T00:00:09.000Z'
    const graph = graphOf({ artifacts, status: { state: 'TASK_STATE_CANCELED', timestamp } })
    expect(graph?.nodes.map((each) => each.state)).toEqual(['completed', 'canceled', 'canceled', 'failed'])
    expect(graph?.nodes[1]?.endedAt).toBe(timestamp)
  })
})
