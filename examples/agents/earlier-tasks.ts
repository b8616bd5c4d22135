// An agent can read its own tasks like any caller: those a message refers to, and those of the conversation so far.
// They are in the store, so what it remembers survives a restart, and it sees nothing that is not this caller's.
import { A2AError, type Task, type Turn, textOf } from 'dragoman'
import type { Line } from '../writing/small-talk.ts'

/**
 * The tasks that `referenceTaskIds` names; unknown ones are left out.
 * @param self the agent's own name
 */
export async function referencedTasks(turn: Turn, self: string) {
  const tasks = await Promise.all((turn.message.referenceTaskIds ?? []).map((id) => taskOf(turn, self, id)))
  return tasks.filter((task) => task !== undefined)
}

async function taskOf(turn: Turn, self: string, id: string) {
  try {
    return await turn.service(self)?.getTask({ id }, { caller: turn.caller, dialect: 'v1' })
  } catch (error) {
    if (error instanceof A2AError && error.code === 'TASK_NOT_FOUND') return undefined
    throw error
  }
}

/** The other tasks of this conversation, oldest first. */
export async function earlierTasks(turn: Turn, self: string): Promise<Task[]> {
  const context = { caller: turn.caller, dialect: 'v1' }
  const page = await turn
    .service(self)
    ?.listTasks({ contextId: turn.contextId, pageSize: 20, includeArtifacts: true }, context)
  return (page?.tasks ?? []).filter(({ id }) => id !== turn.task.id).reverse()
}

/** What was said before this message, by both sides. */
export async function conversation(turn: Turn, self: string): Promise<Line[]> {
  const before = (await earlierTasks(turn, self)).flatMap((task) => [...saidIn(task.history), ...answerOf(task)])
  return [...before, ...saidIn(turn.history.slice(0, -1))]
}

function saidIn(history: Turn['history'] = []): Line[] {
  return history.map((message) => ({ role: message.role === 'ROLE_USER' ? 'user' : 'agent', text: textOf(message) }))
}

function answerOf({ artifacts = [] }: Task): Line[] {
  const text = artifacts.map(textOf).join('\n')
  return text === '' ? [] : [{ role: 'agent', text }]
}

/**
 * Everything the caller said in this task: an answer to a question rarely repeats what came before it. Cut, because
 * strangers may say a lot, and we look for words in it.
 */
export function saidSoFar(turn: Turn) {
  const said = turn.history.filter(({ role }) => role === 'ROLE_USER').map((message) => textOf(message).slice(0, 1000))
  return said.join('\n')
}
