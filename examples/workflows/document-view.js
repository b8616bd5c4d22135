// A run of the document workflow as a front end wants to see it.
import { textOf } from 'dragoman'

/** @import { Artifact, Task } from 'dragoman' */

/**
 * @typedef {object} DocumentView
 * @property {string} taskId
 * @property {string} contextId
 * @property {string} state `working`, `completed`, `failed` …
 * @property {unknown} [outline]
 * @property {string} [document] Markdown
 * @property {string} [summary]
 * @property {string} [question] what an agent wants to know before it goes on
 * @property {{ code: number, status: string, message: string, details: object[] }} [error]
 */

/** @param {Task} task @returns {DocumentView} */
export function viewOf({ id, contextId, status, artifacts = [] }) {
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

/** What an artifact is to a front end: `{ outline }`, `{ document }`, `{ summary }`, or nothing.
 * @param {Artifact} artifact
 */
export function pieceOf({ name, parts }) {
  if (name === 'outline') {
    const part = parts.find((each) => 'data' in each)
    return part && 'data' in part ? { outline: part.data } : {}
  }
  return name === 'document' || name === 'summary' ? { [name]: textOf(parts) } : {}
}

/** @param {string} state `TASK_STATE_INPUT_REQUIRED` is `input-required` */
function stateOf(state) {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

const failures = new Map([
  ['failed', 502], // the agents behind us failed
  ['rejected', 422],
  ['canceled', 409],
])

/** @param {string} state @param {string} words @param {string} taskId */
function failureOf(state, words, taskId) {
  const message = words || `The document was ${state}`
  return { code: failures.get(state) ?? 500, status: state.toUpperCase(), message, details: [{ taskId }] }
}
