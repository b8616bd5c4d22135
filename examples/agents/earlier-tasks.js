// An agent can read its own tasks like any caller: those a message refers to, and those of the conversation so far.
// They are in the store, so what it remembers survives a restart, and it sees nothing that is not this caller's.
import { A2AError, textOf } from 'dragoman'

/** @import { Task, Turn } from 'dragoman' */
/** @import { Line } from '../writing/small-talk.js' */

/** The tasks that `referenceTaskIds` names; unknown ones are left out.
 * @param {Turn} turn
 * @param {string} self the agent's own name
 */
export async function referencedTasks(turn, self) {
  const tasks = await Promise.all((turn.message.referenceTaskIds ?? []).map((id) => taskOf(turn, self, id)))
  return tasks.filter((task) => task !== undefined)
}

/** @param {Turn} turn @param {string} self @param {string} id */
async function taskOf(turn, self, id) {
  try {
    return await turn.service(self)?.getTask({ id }, { caller: turn.caller, dialect: 'v1' })
  } catch (error) {
    if (error instanceof A2AError && error.code === 'TASK_NOT_FOUND') return undefined
    throw error
  }
}

/** The other tasks of this conversation, oldest first.
 * @param {Turn} turn
 * @param {string} self
 * @returns {Promise<Task[]>}
 */
export async function earlierTasks(turn, self) {
  const context = { caller: turn.caller, dialect: 'v1' }
  const page = await turn
    .service(self)
    ?.listTasks({ contextId: turn.contextId, pageSize: 20, includeArtifacts: true }, context)
  return (page?.tasks ?? []).filter(({ id }) => id !== turn.task.id).reverse()
}

/** What was said before this message, by both sides.
 * @param {Turn} turn
 * @param {string} self
 * @returns {Promise<Line[]>}
 */
export async function conversation(turn, self) {
  const before = (await earlierTasks(turn, self)).flatMap((task) => [...saidIn(task.history), ...answerOf(task)])
  return [...before, ...saidIn(turn.history.slice(0, -1))]
}

/** @param {Turn['history']} [history] @returns {Line[]} */
function saidIn(history = []) {
  return history.map((message) => ({ role: message.role === 'ROLE_USER' ? 'user' : 'agent', text: textOf(message) }))
}

/** @param {Task} task @returns {Line[]} */
function answerOf({ artifacts = [] }) {
  const text = artifacts.map(textOf).join('\n')
  return text === '' ? [] : [{ role: 'agent', text }]
}

/** Everything the caller said in this task: an answer to a question rarely repeats what came before it. Cut, because
 * strangers may say a lot, and we look for words in it.
 * @param {Turn} turn
 */
export function saidSoFar(turn) {
  const said = turn.history.filter(({ role }) => role === 'ROLE_USER').map((message) => textOf(message).slice(0, 1000))
  return said.join('\n')
}
