/** Tasks and what is in them, in words. */
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

/** `TASK_STATE_INPUT_REQUIRED` as people say it: `input-required`. */
export function stateName(state: TaskState): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
}

/** The content of an answer: text runs on, everything else stands on lines of its own. */
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

/** What a task came to: its artifacts, or what it says of itself while it waits or when it made nothing. */
export function answerText({ artifacts = [], status }: Task): string {
  const made = artifacts.map(({ parts }) => contentText(parts)).filter((content) => content !== '')
  const said = status.message ? contentText(visible(status.message.parts)) : ''
  const words = isInterrupted(status.state) ? [said] : status.state === 'TASK_STATE_COMPLETED' ? made : [...made, said]
  const shown = words.filter((each) => each !== '')
  return (shown.length > 0 ? shown : [said]).map((each) => each.replace(/\n$/, '')).join('\n')
}

/** A question's schema is for forms, not for reading. */
function visible(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => part.mediaType !== 'application/schema+json')
}

/** What there is to know and to do about a task beside its answer; nothing when it is simply done. `named` is the agent. */
export function nextSteps(task: Pick<Task, 'id' | 'status'>, named: string, hasFiles: boolean): string[] {
  const { id, status } = task
  const place = `${named} ${shellWord(oneLine(id))}`
  const answer = (text: string) => `dragoman send ${named} --task ${shellWord(oneLine(id))} ${text}`
  const steps: string[] = []
  if (status.state === 'TASK_STATE_INPUT_REQUIRED')
    steps.push(`The agent waits for an answer: ${answer(answerHint(status.message))}`)
  else if (status.state === 'TASK_STATE_AUTH_REQUIRED')
    steps.push(`The agent waits for an authorisation; when it is given: ${answer('"…"')}`)
  else if (!isTerminal(status.state))
    steps.push(`Task ${oneLine(id)} is ${stateName(status.state)}: dragoman task get ${place} --wait`)
  else if (status.state !== 'TASK_STATE_COMPLETED') steps.push(`Task ${oneLine(id)} ${endNames[status.state] ?? ''}`)
  if (hasFiles) steps.push(`Save the files: dragoman task download ${place}`)
  return steps
}

/** The arguments that answer a question: words, or data that show the shape of its form. */
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

/** A whole task: what it is, what was said, what it made. */
export function taskText(task: Task): string {
  const { id, contextId, status, artifacts = [], history = [] } = task
  const lines = [`Task     ${oneLine(id)}`, `Context  ${oneLine(contextId)}`]
  lines.push(`State    ${stateName(status.state)}${status.timestamp ? ` since ${oneLine(status.timestamp)}` : ''}`)
  const said = status.message ? contentText(visible(status.message.parts)) : ''
  if (said !== '') lines.push(`Says     ${indented(said, 9)}`)
  if (history.length > 0) lines.push('', 'History')
  for (const { role, parts } of history)
    lines.push(`  ${role === 'ROLE_USER' ? 'user ' : 'agent'}  ${indented(contentText(visible(parts)), 9)}`)
  for (const { artifactId, name, description, parts } of artifacts) {
    lines.push('', `Artifact ${oneLine(name ?? artifactId)}${description ? `: ${oneLine(description)}` : ''}`)
    lines.push(`  ${indented(contentText(parts), 2)}`)
  }
  return lines.join('\n')
}

function indented(text: string, by: number): string {
  return text.replace(/\n$/, '').replaceAll('\n', `\n${' '.repeat(by)}`)
}
