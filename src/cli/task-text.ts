/** Formats tasks and their contents as text. */
import type { Message, Part, Task, TaskState } from '../client/index.js'
import { exampleAnswer, isInterrupted, isTerminal, schemaOf } from '../client/index.js'
import { trimEnd } from '../model/trim-end.js'
import { byteSize, oneLine, printableJson, shellWord } from './printable.js'

export const stateNames = [
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
] as const

/** Formats `TASK_STATE_INPUT_REQUIRED` as `input-required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/** Joins text parts; every other part gets its own line. */
export function contentText(parts: readonly Part[]): string {
  let content = ''
  for (const part of parts) {
    if ('text' in part) content += part.text
    else content += `${content === '' || content.endsWith('\n') ? '' : '\n'}${partLine(part)}\n`
  }
  return content
}

function partLine(part: Exclude<Part, { text: string }>): string {
  if ('data' in part) return JSON.stringify(part.data, null, 2)
  const { filename, mediaType } = part
  const facts = [mediaType, 'url' in part ? part.url : byteSize(base64Size(part.raw))].filter(Boolean).join(', ')
  return `[${oneLine(filename ?? ('url' in part ? 'link' : 'file'))} (${oneLine(facts)})]`
}

function base64Size(raw: string): number {
  return Math.floor((trimEnd(raw, /=/).length * 3) / 4)
}

/** The artifacts of a completed task; otherwise its status message, with artifacts if the task ended. */
export function answerText({ artifacts = [], status }: Task): string {
  const made = artifacts.map(({ parts }) => contentText(parts)).filter((content) => content !== '')
  const message = status.message ? contentText(withoutSchemas(status.message.parts)) : ''
  const texts = isInterrupted(status.state)
    ? [message]
    : status.state === 'TASK_STATE_COMPLETED'
      ? made
      : [...made, message]
  const shown = texts.filter((each) => each !== '')
  return (shown.length > 0 ? shown : [message]).map((each) => each.replace(/\n$/, '')).join('\n')
}

/** Leaves out the JSON Schemas of questions. */
function withoutSchemas(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => part.mediaType !== 'application/schema+json')
}

/**
 * Remarks about a task and the commands to use next; empty for a completed task without files. `agentArgs`: the agent and
 * its options, as arguments of the next command.
 */
export function nextSteps(task: Pick<Task, 'id' | 'status'>, agentArgs: string, hasFiles: boolean): string[] {
  const { id, status } = task
  const args = `${agentArgs} ${shellWord(oneLine(id))}`
  const answer = (text: string) => `dragoman send ${agentArgs} --task ${shellWord(oneLine(id))} ${text}`
  const steps: string[] = []
  if (status.state === 'TASK_STATE_INPUT_REQUIRED')
    steps.push(`The agent asks for input: ${answer(answerHint(status.message))}`)
  else if (status.state === 'TASK_STATE_AUTH_REQUIRED')
    steps.push(`The agent waits for an authorisation; afterwards: ${answer('"…"')}`)
  else if (!isTerminal(status.state))
    steps.push(`Task ${oneLine(id)} is ${stateName(status.state)}: dragoman task get ${args} --wait`)
  else if (status.state !== 'TASK_STATE_COMPLETED') steps.push(`Task ${oneLine(id)} ${endNames[status.state] ?? ''}`)
  if (hasFiles) steps.push(`Save the files: dragoman task download ${args}`)
  return steps
}

/** Example arguments that answer a question: text, or data that fit its JSON Schema. */
export function answerHint(question: Message | undefined): string {
  const schema = schemaOf(question)
  return schema ? `--data ${shellWord(printableJson(exampleAnswer(schema)))}` : '"…"'
}

const endNames: Readonly<Partial<Record<TaskState, string>>> = {
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_REJECTED: 'was rejected',
  TASK_STATE_CANCELED: 'was canceled',
}

export function hasFiles(parts: readonly Part[]): boolean {
  return parts.some((part) => 'raw' in part || 'url' in part)
}

export function taskHasFiles({ artifacts = [] }: Task): boolean {
  return artifacts.some(({ parts }) => hasFiles(parts))
}

/** Formats a whole task with its history and artifacts. */
export function taskText(task: Task): string {
  const { id, contextId, status, artifacts = [], history = [] } = task
  const lines = [`Task     ${oneLine(id)}`, `Context  ${oneLine(contextId)}`]
  lines.push(`State    ${stateName(status.state)}${status.timestamp ? ` since ${oneLine(status.timestamp)}` : ''}`)
  const message = status.message ? contentText(withoutSchemas(status.message.parts)) : ''
  if (message !== '') lines.push(`Message  ${indented(message, 9)}`)
  if (history.length > 0) lines.push('', 'History')
  for (const { role, parts } of history)
    lines.push(`  ${role === 'ROLE_USER' ? 'user ' : 'agent'}  ${indented(contentText(withoutSchemas(parts)), 9)}`)
  for (const { artifactId, name, description, parts } of artifacts) {
    lines.push('', `Artifact ${oneLine(name ?? artifactId)}${description ? `: ${oneLine(description)}` : ''}`)
    lines.push(`  ${indented(contentText(parts), 2)}`)
  }
  return lines.join('\n')
}

function indented(text: string, by: number): string {
  return text.replace(/\n$/, '').replaceAll('\n', `\n${' '.repeat(by)}`)
}
