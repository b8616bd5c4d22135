// A run of the document workflow, in the form that front ends read.
import { type Artifact, type Task, textOf } from 'dragoman'

interface DocumentView {
  readonly taskId: string
  readonly contextId: string
  /** Such as `working`, `completed` or `failed`. */
  readonly state: string
  readonly outline?: unknown
  /** In Markdown. */
  readonly document?: string
  readonly summary?: string
  /** Question of an agent that waits for an answer. */
  readonly question?: string
  readonly error?: { code: number; status: string; message: string; details: object[] }
}

export function viewOf({ id, contextId, status, artifacts = [] }: Task): DocumentView {
  const state = stateOf(status.state)
  const words = status.message ? textOf(status.message) : ''
  const pieces = artifacts.map(pieceOf)
  return {
    taskId: id,
    contextId,
    state,
    ...Object.assign({}, ...pieces),
    ...(state.endsWith('-required') && { question: words }),
    ...(failures.has(state) && { error: failureOf(state, words, id) }),
  }
}

/** Returns the member of the view that an artifact fills: `{ outline }`, `{ document }`, `{ summary }` or `{}`. */
export function pieceOf({ name, parts }: Artifact) {
  if (name === 'outline') {
    const part = parts.find((each) => 'data' in each)
    return part && 'data' in part ? { outline: part.data } : {}
  }
  return name === 'document' || name === 'summary' ? { [name]: textOf(parts) } : {}
}

/** Turns `TASK_STATE_INPUT_REQUIRED` into `input-required`. */
function stateOf(state: string) {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

const failures = new Map([
  ['failed', 502], // an agent of the workflow failed
  ['rejected', 422],
  ['canceled', 409],
])

function failureOf(state: string, words: string, taskId: string) {
  const message = words || `The document was ${state}`
  return { code: failures.get(state) ?? 500, status: state.toUpperCase(), message, details: [{ taskId }] }
}
