/** The graph of a run, laid out from left to right. Loaded on use: it is half as large as all the rest. */
import dagre from '@dagrejs/dagre'
import { Background, Controls, type Edge, Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react'
import type { GraphNode, WorkflowGraph } from 'dragoman/orchestrator'
import { type ReactNode, useMemo } from 'react'
import { durationOf, stepTones } from './step-words.js'
import '@xyflow/react/dist/base.css'

const width = 200
const height = 58

interface GraphProps {
  readonly graph: WorkflowGraph
  readonly chosen: string | undefined
  onChoose(node: GraphNode): void
}

type StepNode = Node<{ readonly step: GraphNode; readonly isChosen: boolean }, 'step'>

const nodeTypes = { step: StepBox }

export default function RunGraph({ graph, chosen, onChoose }: GraphProps): ReactNode {
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges])
  // Steps change their state all the time, and their place only when there are others.
  const places = useMemo(() => layOut(shape), [shape])
  const nodes = graph.nodes.map(
    (step): StepNode => ({
      id: step.id,
      type: 'step',
      position: places.get(step.id) ?? { x: 0, y: 0 },
      data: { step, isChosen: step.id === chosen },
      ariaLabel: `${step.id} ${step.state}`,
    }),
  )
  const edges = graph.edges.map(({ from, to }): Edge => ({ id: `${from} ${to}`, source: from, target: to }))
  return (
    <ReactFlow
      key={graph.nodes.length}
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      nodesDraggable={false}
      nodesConnectable={false}
      edgesFocusable={false}
      fitView
      fitViewOptions={{ maxZoom: 1, padding: 0.15 }}
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
      <Controls showInteractive={false} />
    </ReactFlow>
  )
}

function StepBox({ data: { step, isChosen } }: NodeProps<StepNode>): ReactNode {
  return (
    <div className={`node ${stepTones[step.state]}${isChosen ? ' is-chosen' : ''}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="row">
        <strong className="clip grow">{step.id}</strong>
        <span className="small faint">{durationOf(step)}</span>
      </span>
      <span className="small soft clip">
        {step.state}
        {step.agent === undefined ? '' : ` · ${step.agent}`}
      </span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
}

function layOut(shape: string): ReadonlyMap<string, { x: number; y: number }> {
  const [ids, edges] = JSON.parse(shape) as [string[], WorkflowGraph['edges']]
  const layout = new dagre.graphlib.Graph().setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 56 })
  layout.setDefaultEdgeLabel(() => ({}))
  for (const id of ids) layout.setNode(id, { width, height })
  for (const { from, to } of edges) if (ids.includes(from) && ids.includes(to)) layout.setEdge(from, to)
  dagre.layout(layout)
  return new Map(
    ids.map((id) => {
      const { x = 0, y = 0 } = layout.node(id) ?? {}
      return [id, { x: x - width / 2, y: y - height / 2 }]
    }),
  )
}
