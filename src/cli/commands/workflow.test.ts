import { describe, expect, it } from 'vitest'
import type { GraphNode, WorkflowGraph } from '../../orchestrator/index.js'
import { graphText } from './workflow.js'

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  kind: 'step',
  state: 'completed',
  agent: 'A',
  attempts: 1,
  startedAt: '2026-01-05T08:00:00.000Z',
  endedAt: '2026-01-05T08:00:01.500Z',
  ...more,
})
const graph = (nodes: readonly GraphNode[], ...edges: (readonly [string, string])[]): WorkflowGraph => ({
  workflow: 'Travel',
  nodes,
  edges: edges.map(([from, to]) => ({ from, to })),
})
const text = (given: WorkflowGraph, isOver = true) =>
  graphText(given, { isOver, nowMs: Date.parse('2026-01-05T08:02:05.000Z') }).split('\n')

describe('graphText', () => {
  it('renders a tree with states and durations', () => {
    const travel = graph(
      [
        node('flight'),
        node('hotel', { attempts: 2 }),
        node('tour', { state: 'failed', error: 'sold\nout', endedAt: '2026-01-05T08:00:00.120Z' }),
        node('spa'),
      ],
      ['flight', 'hotel'],
      ['flight', 'tour'],
      ['hotel', 'spa'],
    )
    expect(text(travel)).toEqual([
      'Travel',
      '└─ flight     A  completed  1.5 s',
      '   ├─ hotel   A  completed  1.5 s   2 attempts',
      '   │  └─ spa  A  completed  1.5 s',
      '   └─ tour    A  failed     120 ms  sold out',
    ])
  })

  it('shows open steps of an ended run as abandoned', () => {
    const { endedAt: _, ...running } = node('flight', { state: 'running' })
    expect(text(graph([running]), false)[1]).toBe('└─ flight  A  running  2 min 5 s')
    expect(text(graph([running]), true)[1]).toBe('└─ flight  A  abandoned')
  })

  it('shows every node, also of cycles and unknown edges', () => {
    const strange = graph([node('a'), node('b'), node('c')], ['a', 'b'], ['b', 'a'], ['nowhere', 'c'], ['c', 'c'])
    expect(text(strange).map((line) => /[abc](?= )/.exec(line)?.[0])).toEqual([undefined, 'c', 'a', 'b'])
  })
})
