/** The conversation so far, as a session of the Agents SDK. */
import type { AgentInputItem, Session } from '@openai/agents-core'
import type { Turn } from '../../engine/agent.js'
import type { Message } from '../../model/message.js'
import { type Part, textOf } from '../../model/part.js'
import type { Task } from '../../model/task.js'
import { fileUrl } from '../file-source.js'

/**
 * A session whose items are the earlier tasks of the context: messages of the caller and text of the agent. The tasks are
 * the memory, so nothing is stored here. Tool calls of earlier tasks are not part of it.
 */
export function sessionOf(turn: Turn, limit: number): Session {
  let items: AgentInputItem[] | undefined
  return {
    getSessionId: () => Promise.resolve(turn.contextId),
    async getItems(count) {
      items ??= [...(limit === 0 ? [] : await turn.earlier({ limit })), ...ownTask(turn)].flatMap(itemsOf)
      return count === undefined ? [...items] : items.slice(Math.max(0, items.length - count))
    },
    addItems: () => Promise.resolve(),
    popItem: () => Promise.resolve(undefined),
    clearSession: () => Promise.resolve(),
  }
}

/** This task, if it had turns before. */
function ownTask({ number, task, history }: Turn): Task[] {
  return number === 1 ? [] : [{ ...task, history: history.slice(0, -1) }]
}

function itemsOf({ history = [], artifacts = [], status }: Task): AgentInputItem[] {
  const isSaid = status.message && history.some(({ messageId }) => messageId === status.message?.messageId)
  const messages = status.message && !isSaid ? [...history, status.message] : history
  const asked = messages.flatMap(itemOf)
  const made = artifacts.map(textOf).filter(Boolean)
  return made.length === 0 ? asked : [...asked, answerItem(made.join('\n'))]
}

function itemOf({ role, parts }: Message): AgentInputItem[] {
  if (role === 'ROLE_USER') return [userItem(parts)]
  const text = textOf(parts)
  return text === '' ? [] : [answerItem(text)]
}

function answerItem(text: string): AgentInputItem {
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
}

/** A message of the caller as input of a model. Data is sent as JSON text. */
export function userItem(parts: readonly Part[]): AgentInputItem {
  return {
    type: 'message',
    role: 'user',
    content: parts.map((part) => {
      if ('text' in part) return { type: 'input_text', text: part.text }
      if ('data' in part) return { type: 'input_text', text: JSON.stringify(part.data) }
      const { mediaType, filename } = part
      const url = fileUrl(part)
      if (mediaType?.startsWith('image/')) return { type: 'input_image', image: url }
      const file = 'url' in part ? { url } : url
      return { type: 'input_file', file, ...(filename !== undefined && { filename }) }
    }),
  }
}
