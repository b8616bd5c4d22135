/**
 * The graph of a run: a data artifact of the run's task, which is replaced when the state or the task of a step changes.
 * The card of a workflow declares it as an extension.
 */
import { type ArtifactDraft, artifact } from '../engine/yields.js'
import { isObject } from '../model/is-object.js'
import type { JsonValue, Struct } from '../model/part.js'
import { isTerminal, type Task } from '../model/task.js'
import type { StepRecord, StepState } from './step-record.js'

/** The URI of the workflow extension, on the card and on artifacts that are not results of the workflow itself. */
export const workflowUri = 'urn:dragoman:workflow:v1'

const graphId = 'workflow-graph'

/** A step of a run. */
export interface GraphNode {
  /** The name of the step. */
  readonly id: string
  /** `step`: done by an agent. `undo`: a compensation. `ask`: a question to the caller. `once`: done by the workflow. */
  readonly kind: StepRecord['kind']
  readonly state: StepState
  readonly agent?: string
  /** The id of the agent's task. */
  readonly taskId?: string
  readonly attempts: number
  readonly startedAt: string
  readonly endedAt?: string
  readonly error?: string
}

/** The steps of a run and their dependencies. */
export interface WorkflowGraph {
  readonly workflow: string
  /** In the order of their start. */
  readonly nodes: readonly GraphNode[]
  /** `to` uses the result of `from`. */
  readonly edges: readonly { readonly from: string; readonly to: string }[]
}

/** Reads the graph from the task of a run; undefined if the task is not a workflow run. */
export function graphOf({ artifacts = [], status }: RunFacts): WorkflowGraph | undefined {
  const parts = artifacts.find(({ artifactId }) => artifactId === graphId)?.parts ?? []
  const part = parts.find((each) => 'data' in each)
  if (!part || !isGraph(part.data)) return undefined
  const graph = part.data as unknown as WorkflowGraph // checked above
  return status && isTerminal(status.state)
    ? { ...graph, nodes: graph.nodes.map((node) => ended(node, status)) }
    : graph
}

type RunFacts = Pick<Task, 'artifacts'> & Partial<Pick<Task, 'status'>>

/** Open steps of an ended run count as canceled: the graph is not updated after the end. */
function ended(node: GraphNode, { timestamp = node.startedAt }: Task['status']): GraphNode {
  const isOpen = node.state === 'running' || node.state === 'asking'
  return isOpen ? { ...node, state: 'canceled', endedAt: timestamp } : node
}

function graphDraft(workflow: string, records: ReadonlyMap<string, StepRecord>): ArtifactDraft {
  const graph: WorkflowGraph = {
    workflow,
    nodes: Array.from(records, nodeOf),
    edges: Array.from(records, ([to, { after = [] }]) => after.map((from) => ({ from, to }))).flat(),
  }
  const data = graph as unknown as JsonValue // strings and numbers only
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

/** The task is untrusted. */
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

const minIntervalMs = 100
/** Each update contains all nodes, so larger graphs are published less often. */
const intervalPerNodeMs = 2

/** Publishes the graph after changes, with a rate limit. */
export class GraphPublisher {
  readonly #workflow: string
  readonly #records: ReadonlyMap<string, StepRecord>
  readonly #publish: (draft: ArtifactDraft) => void
  #timer: NodeJS.Timeout | undefined
  #isChanged = false

  constructor(workflow: string, records: ReadonlyMap<string, StepRecord>, publish: (draft: ArtifactDraft) => void) {
    this.#workflow = workflow
    this.#records = records
    this.#publish = publish
  }

  changed(): void {
    this.#isChanged = true
    if (this.#timer) return
    this.#isChanged = false
    this.#publish(this.draft())
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        if (this.#isChanged) this.changed()
      },
      Math.max(minIntervalMs, this.#records.size * intervalPerNodeMs),
    )
  }

  /** The present graph. */
  draft(): ArtifactDraft {
    return graphDraft(this.#workflow, this.#records)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#isChanged = false
  }
}
