/**
 * The graph of a run, as anybody may read it: a data artifact of the run's task, replaced when a step changes
 * its state or gets its task. The card of a workflow declares the extension that says so.
 */
import { type ArtifactDraft, artifact } from '../engine/yields.js'
import { isObject } from '../model/is-object.js'
import type { JsonValue, Struct } from '../model/part.js'
import { isTerminal, type Task } from '../model/task.js'
import type { StepRecord, StepState } from './step-record.js'

/** On the card of a workflow, and on the artifacts that are not its own results. */
export const workflowUri = 'urn:dragoman:workflow:v1'

const graphId = 'workflow-graph'

export interface GraphNode {
  /** The name of the step. */
  readonly id: string
  /** `step`: an agent did it. `undo`: an agent undid it. `ask`: whoever started the run answered. `once`: the workflow did it. */
  readonly kind: StepRecord['kind']
  readonly state: StepState
  readonly agent?: string
  /** The agent's task. */
  readonly taskId?: string
  readonly attempts: number
  readonly startedAt: string
  readonly endedAt?: string
  readonly error?: string
}

export interface WorkflowGraph {
  readonly workflow: string
  /** In the order in which they were begun. */
  readonly nodes: readonly GraphNode[]
  /** `to` builds on the result of `from`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

/** The graph of a run, from its task; absent when the task is no run of a workflow. */
export function graphOf({ artifacts = [], status }: RunFacts): WorkflowGraph | undefined {
  const parts = artifacts.find(({ artifactId }) => artifactId === graphId)?.parts ?? []
  const part = parts.find((each) => 'data' in each)
  if (!part || !isGraph(part.data)) return undefined
  const graph = part.data as unknown as WorkflowGraph // looked at above
  return status && isTerminal(status.state)
    ? { ...graph, nodes: graph.nodes.map((node) => ended(node, status)) }
    : graph
}

type RunFacts = Pick<Task, 'artifacts'> & Partial<Pick<Task, 'status'>>

/** A run that is over says nothing more: whatever was under way when it was cancelled is not any more. */
function ended(node: GraphNode, { timestamp = node.startedAt }: Task['status']): GraphNode {
  const isOpen = node.state === 'running' || node.state === 'asking'
  return isOpen ? { ...node, state: 'canceled', endedAt: timestamp } : node
}

export function graphDraft(workflow: string, records: ReadonlyMap<string, StepRecord>): ArtifactDraft {
  const graph: WorkflowGraph = {
    workflow,
    nodes: Array.from(records, nodeOf),
    edges: Array.from(records, ([to, { after = [] }]) => after.map((from) => ({ from, to }))).flat(),
  }
  const data = graph as unknown as JsonValue // made of strings and numbers
  return artifact(graphId, { data, mediaType: 'application/json' }, { id: graphId, extensions: [workflowUri] })
}

function nodeOf([id, record]: readonly [string, StepRecord]): GraphNode {
  const { kind, state, agent, taskId, attempt, startedAt, endedAt, error } = record
  return {
    id,
    kind,
    state,
    ...(agent !== undefined && { agent }),
    ...(taskId !== undefined && { taskId }),
    attempts: attempt,
    startedAt: new Date(startedAt).toISOString(),
    ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
    ...(error !== undefined && { error }),
  }
}

/** The task may be anybody's. */
function isGraph(value: JsonValue): boolean {
  if (!isObject(value)) return false
  const { workflow, nodes, edges } = value
  return (
    typeof workflow === 'string' &&
    Array.isArray(nodes) &&
    nodes.every(
      (node: JsonValue) =>
        isObject(node) &&
        hasTexts(node, ['id', 'kind', 'state', 'startedAt'], ['agent', 'taskId', 'endedAt', 'error']) &&
        typeof node.attempts === 'number',
    ) &&
    Array.isArray(edges) &&
    edges.every((edge: JsonValue) => isObject(edge) && hasTexts(edge, ['from', 'to'], []))
  )
}

function hasTexts(value: Struct, needed: readonly string[], possible: readonly string[]): boolean {
  return (
    needed.every((name) => typeof value[name] === 'string') &&
    possible.every((name) => value[name] === undefined || typeof value[name] === 'string')
  )
}

const shortestPauseMs = 100
/** Each update holds every node: the more there are, the less often they are told. */
const pausePerNodeMs = 2

/** Tells the graph when it has changed, not more often than it pays. */
export class GraphPublisher {
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
