// A run of the document workflow as a front end wants to see it.
import { type Artifact, type Task, textOf } from 'dragoman'

interface DocumentView {
  readonly taskId: string
  readonly contextId: string
  /** `working`, `completed`, `failed` … */
  readonly state: string
  readonly outline?: unknown
  /** Markdown */
  readonly document?: string
  readonly summary?: string
  /** what an agent wants to know before it goes on */
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

/** What an artifact is to a front end: `{ outline }`, `{ document }`, `{ summary }`, or nothing. */
export function pieceOf({ name, parts }: Artifact) {
  if (name === 'outline') {
    const part = parts.find((each) => 'data' in each)
    return part && 'data' in part ? { outline: part.data } : {}
  }
  return name === 'document' || name === 'summary' ? { [name]: textOf(parts) } : {}
}

/** @param state `TASK_STATE_INPUT_REQUIRED` is `input-required` */
function stateOf(state: string) {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

const failures = new Map([
  ['failed', 502], // the agents behind us failed
  ['rejected', 422],
  ['canceled', 409],
])

function failureOf(state: string, words: string, taskId: string) {
  const message = words || `The document was ${state}`
  return { code: failures.get(state) ?? 500, status: state.toUpperCase(), message, details: [{ taskId }] }
}
