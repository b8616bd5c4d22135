/** The graph of a run, from left to right. Loaded on use, because its libraries are large. */
import dagre from '@dagrejs/dagre'
import { Background, Controls, type Edge, Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react'
import type { GraphNode, WorkflowGraph } from 'dragoman/orchestrator'
import { type ReactNode, useMemo } from 'react'
import { formatMs } from '../../components/format.js'
import { useLanguage, useText } from '../../text/text.js'
import { msOf, stepTones } from './step-state.js'
import '@xyflow/react/dist/base.css'

const width = 200
const height = 58
const margin = 40
const [minHeight, maxHeight] = [150, 520]

interface GraphProps {
  readonly graph: WorkflowGraph
  readonly chosen: string | undefined
  onChoose(node: GraphNode): void
}

type StepNode = Node<{ readonly step: GraphNode; readonly isChosen: boolean }, 'step'>

const nodeTypes = { step: StepBox }

export default function RunGraph({ graph, chosen, onChoose }: GraphProps): ReactNode {
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges])
  // Positions change only with the set of steps, not with their states.
  const { places, height: high } = useMemo(() => layOut(shape, isNarrow()), [shape])
  const { workflows } = useText()
  const nodes = graph.nodes.map(
    (step): StepNode => ({
      id: step.id,
      type: 'step',
      position: places.get(step.id) ?? { x: 0, y: 0 },
      data: { step, isChosen: step.id === chosen },
      ariaLabel: `${step.id} ${workflows.states[step.state]}`,
    }),
  )
  const edges = graph.edges.map(({ from, to }): Edge => ({ id: `${from} ${to}`, source: from, target: to }))
  return (
    <div style={{ height: Math.min(maxHeight, Math.max(minHeight, high + 2 * margin)) }}>
      <ReactFlow
        key={graph.nodes.length}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        preventScrolling={false}
        minZoom={0.1}
        onNodeClick={(_event, node) => onChoose(node.data.step)}
        onKeyDown={({ key, target }) => {
          const id =
            key === 'Enter' && target instanceof Element ? target.closest('[data-id]')?.getAttribute('data-id') : null
          const step = graph.nodes.find((each) => each.id === id)
          if (step) onChoose(step)
        }}
      >
        <Background />
        <Controls showInteractive={false} position="top-right" />
      </ReactFlow>
    </div>
  )
}

function StepBox({ data: { step, isChosen } }: NodeProps<StepNode>): ReactNode {
  const { workflows } = useText()
  const { language } = useLanguage()
  const [before, after] = isNarrow() ? [Position.Top, Position.Bottom] : [Position.Left, Position.Right]
  return (
    <div className={`node ${stepTones[step.state]}${isChosen ? ' is-chosen' : ''}`}>
      <Handle type="target" position={before} isConnectable={false} />
      <span className="row">
        <strong className="clip grow">{step.id}</strong>
        <span className="small faint">{formatMs(msOf(step), language)}</span>
      </span>
      <span className="small soft clip">
        {workflows.states[step.state]}
        {step.agent === undefined ? '' : ` · ${step.agent}`}
      </span>
      <Handle type="source" position={after} isConnectable={false} />
    </div>
  )
}

/** On phones the graph runs from top to bottom. */
function isNarrow(): boolean {
  return innerWidth < 720
}

interface Layout {
  readonly places: ReadonlyMap<string, { x: number; y: number }>
  readonly height: number
}

function layOut(shape: string, isDownwards: boolean): Layout {
  const [ids, edges] = JSON.parse(shape) as [string[], WorkflowGraph['edges']]
  const [rankdir, ranksep] = isDownwards ? ['TB', 28] : ['LR', 56]
  const layout = new dagre.graphlib.Graph().setGraph({ rankdir, nodesep: 18, ranksep })
  layout.setDefaultEdgeLabel(() => ({}))
  for (const id of ids) layout.setNode(id, { width, height })
  for (const { from, to } of edges) if (ids.includes(from) && ids.includes(to)) layout.setEdge(from, to)
  dagre.layout(layout)
  const places = new Map(
    ids.map((id) => {
      const { x = 0, y = 0 } = layout.node(id) ?? {}
      return [id, { x: x - width / 2, y: y - height / 2 }]
    }),
  )
  return { places, height: Math.max(...Array.from(places.values(), ({ y }) => y)) + height }
}
