/** Follows a run to its end or to its next question, telling what goes on, and shows what came of it. */
import { collect, isTerminal, type Task, type Update } from '../../client/index.js'
import { graphOf, workflowUri } from '../../orchestrator/index.js'
import type { Output } from '../output.js'
import { shellWord } from '../printable.js'
import { contentText, nextSteps, taskHasFiles } from '../task-text.js'
import { graphText } from './graph-text.js'

export async function followRun(updates: AsyncIterable<Update>, output: Output): Promise<Task> {
  const { task } = await collect(toldOn(output, updates))
  if (!task) throw new Error('The agent answered with a message: it is no workflow')
  return task
}

export function showRun(task: Task, ref: string, output: Output): void {
  const graph = graphOf(task)
  output.result({ task, ...(graph && { graph }) }, () => output.said(runText(task)))
  const { state } = task.status
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED')
    output.note(`It waits for an answer: dragoman workflow resume ${shellWord(ref)} ${shellWord(task.id)} "…"`)
  else for (const step of nextSteps(task, ref, taskHasFiles(task))) output.note(step)
}

/** The steps, then what the workflow itself made and said; what its steps made is with them. */
export function runText(task: Task): string {
  const graph = graphOf(task)
  const { state, message } = task.status
  const own = (task.artifacts ?? []).filter(({ extensions }) => !extensions?.includes(workflowUri))
  const said = message
    ? contentText(message.parts.filter(({ mediaType }) => mediaType !== 'application/schema+json'))
    : ''
  return [
    graph ? graphText(graph, { isOver: isTerminal(state), nowMs: Date.now() }) : '',
    ...own.map(({ parts }) => contentText(parts)),
    said,
  ]
    .map((each) => each.replace(/\n$/, ''))
    .filter((each) => each !== '')
    .join('\n\n')
}

async function* toldOn(output: Output, updates: AsyncIterable<Update>): AsyncGenerator<Update> {
  for await (const update of updates) {
    const status = 'statusUpdate' in update ? update.statusUpdate.status : undefined
    if (status?.state === 'TASK_STATE_WORKING' && status.message)
      output.note(contentText(status.message.parts).trimEnd())
    yield update
    // A subscription goes on behind a question; whoever reads this has to answer it first.
    if (status?.state === 'TASK_STATE_INPUT_REQUIRED' || status?.state === 'TASK_STATE_AUTH_REQUIRED') return
  }
}
