// An agent can read its own tasks like any caller: the tasks that a message refers to, and the earlier tasks of the
// conversation. They are in the store, so a conversation survives a restart. The agent sees the tasks of its caller only.
import { A2AError, type Task, type Turn, textOf } from 'dragoman'
import type { ChatMessage } from '../writing/small-talk.ts'

/**
 * Returns the tasks that `referenceTaskIds` names, without unknown ones.
 * @param self Name of the agent itself.
 */
export async function referencedTasks(turn: Turn, self: string) {
  const tasks = await Promise.all((turn.message.referenceTaskIds ?? []).map((id) => taskOf(turn, self, id)))
  return tasks.filter((task) => task !== undefined)
}

async function taskOf(turn: Turn, self: string, id: string) {
  try {
    return await turn.service(self)?.getTask({ id }, { caller: turn.caller })
  } catch (error) {
    if (error instanceof A2AError && error.code === 'TASK_NOT_FOUND') return undefined
    throw error
  }
}

/** Returns the earlier messages of both sides. */
export async function conversation(turn: Turn): Promise<ChatMessage[]> {
  const before = (await turn.earlier()).flatMap((task) => [...messagesIn(task.history), ...answerOf(task)])
  return [...before, ...messagesIn(turn.history.slice(0, -1))]
}

function messagesIn(history: Turn['history'] = []): ChatMessage[] {
  return history.map((message) => ({ role: message.role === 'ROLE_USER' ? 'user' : 'agent', text: textOf(message) }))
}

function answerOf({ artifacts = [] }: Task): ChatMessage[] {
  const text = artifacts.map(textOf).join('\n')
  return text === '' ? [] : [{ role: 'agent', text }]
}

/**
 * Returns the text of all messages that the caller sent in this task: an answer rarely repeats the request. Each text is
 * cut, because the agents search it with regular expressions.
 */
export function textFromCaller(turn: Turn) {
  const said = turn.history.filter(({ role }) => role === 'ROLE_USER').map((message) => textOf(message).slice(0, 1000))
  return said.join('\n')
}
