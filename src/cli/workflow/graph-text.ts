/** The graph of a run as a tree: a step stands under the first one it builds on. */
import type { GraphNode, WorkflowGraph } from '../../orchestrator/index.js'
import { oneLine, table } from '../printable.js'

export interface GraphTextOptions {
  /** The run has ended: what seems to be under way was left behind. */
  readonly isOver: boolean
  readonly nowMs: number
}

interface Branch {
  readonly node: GraphNode
  readonly indent: string
}

export function graphText(graph: WorkflowGraph, options: GraphTextOptions): string {
  const rows = branches(graph).map(({ node, indent }) => [
    `${indent}${oneLine(node.id)}`,
    oneLine(node.agent ?? kindNames[node.kind] ?? ''),
    stateOf(node, options),
    durationOf(node, options),
    notesOf(node, graph),
  ])
  return [oneLine(graph.workflow), ...(rows.length > 0 ? [table(rows)] : [])].join('\n')
}

const kindNames: Readonly<Record<string, string>> = { ask: 'a question', once: 'the workflow' }

/** The graph may be anybody's: edges to nowhere and in circles lose nobody. */
function branches({ nodes, edges }: WorkflowGraph): readonly Branch[] {
  const known = new Set(nodes.map(({ id }) => id))
  const parent = new Map<string, string>()
  for (const { from, to } of edges) if (known.has(from) && from !== to && !parent.has(to)) parent.set(to, from)
  const placed = new Set<string>()
  const found: Branch[] = []
  const place = (level: readonly GraphNode[], indent: string) => {
    const here = level.filter(({ id }) => !placed.has(id))
    for (const { id } of here) placed.add(id)
    for (const [number, node] of here.entries()) {
      const isLast = number === here.length - 1
      found.push({ node, indent: `${indent}${isLast ? '└─ ' : '├─ '}` })
      place(
        nodes.filter(({ id }) => parent.get(id) === node.id),
        `${indent}${isLast ? '   ' : '│  '}`,
      )
    }
  }
  place(
    nodes.filter(({ id }) => !parent.has(id)),
    '',
  )
  // Circles have no beginning.
  place(nodes, '')
  return found
}

function stateOf({ state }: GraphNode, { isOver }: GraphTextOptions): string {
  return isOver && (state === 'running' || state === 'asking') ? 'left' : oneLine(state)
}

function durationOf({ startedAt, endedAt }: GraphNode, { isOver, nowMs }: GraphTextOptions): string {
  if (endedAt === undefined && isOver) return ''
  const ms = (endedAt === undefined ? nowMs : Date.parse(endedAt)) - Date.parse(startedAt)
  if (!Number.isFinite(ms) || ms < 0) return ''
  if (ms < 1000) return `${ms} ms`
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

function notesOf({ id, attempts, error, taskId }: GraphNode, { edges }: WorkflowGraph): string {
  const before = edges.filter(({ to }) => to === id).map(({ from }) => from)
  const notes = [
    ...(before.length > 1 ? [`after ${before.join(', ')}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(error === undefined ? [] : [error]),
    ...(taskId === undefined ? [] : [`task ${taskId}`]),
  ]
  return oneLine(notes.join('; '))
}
