/** Messages and tasks as messages for a model of the AI SDK. */
import type { ModelMessage, UserModelMessage } from 'ai'
import type { Artifact } from '../../model/artifact.js'
import type { Message } from '../../model/message.js'
import { type Part, textOf } from '../../model/part.js'
import { isStepPart } from '../../model/steps.js'
import type { Task } from '../../model/task.js'
import { markOf } from './chat-message.js'

type UserContent = Exclude<UserModelMessage['content'], string>[number]

/** A message of the caller. */
export function userMessage({ parts }: Message): UserModelMessage {
  return { role: 'user', content: parts.map(contentOf) }
}

/** Links are given as text: the AI SDK would fetch them from inside your network. */
function contentOf(part: Part): UserContent {
  if ('raw' in part) {
    const { raw: data, mediaType = 'application/octet-stream', filename } = part
    return { type: 'file', data, mediaType, ...(filename !== undefined && { filename }) }
  }
  return { type: 'text', text: describe(part) }
}

function describe(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  const name = part.filename ?? part.mediaType ?? 'file'
  return 'url' in part ? `[${name}](${part.url})` : `[${name}]`
}

/** The conversation of earlier tasks, oldest first. A user who goes back to a task leaves out the tasks after it. */
export function earlierMessages(tasks: readonly Task[], current: Message): ModelMessage[] {
  let kept: readonly Task[] = []
  for (const task of tasks) {
    const first = task.history?.find(({ role }) => role === 'ROLE_USER')
    kept = [...(first ? upTo(kept, first) : kept), task]
  }
  return upTo(kept, current).flatMap((task) => taskMessages(task))
}

function upTo(tasks: readonly Task[], message: Message): readonly Task[] {
  const { after } = markOf(message)
  if (after === undefined) return tasks
  return tasks.slice(0, tasks.findIndex(({ id }) => id === after) + 1)
}

/** The messages of a task and its results. */
export function taskMessages({ history = [], artifacts = [], status }: Task): ModelMessage[] {
  const messages: ModelMessage[] = history.flatMap((message) =>
    message.role === 'ROLE_USER' ? [userMessage(message)] : assistantMessage(textOf(message)),
  )
  const { message } = status
  const isInHistory = history.some(({ messageId }) => messageId === message?.messageId)
  const result = [...artifacts.map(artifactText), message && !isInHistory ? textOf(message) : '']
  return [...messages, ...assistantMessage(result.filter(Boolean).join('\n\n'))]
}

function artifactText({ parts }: Artifact): string {
  return parts
    .filter((part) => !isStepPart(part))
    .map(describe)
    .join('')
}

function assistantMessage(content: string): ModelMessage[] {
  return content === '' ? [] : [{ role: 'assistant', content }]
}
