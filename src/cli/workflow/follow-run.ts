/** Follows a run to its end or to its next question, telling what goes on, and shows what came of it. */
import { collect, isInterrupted, isTerminal, type Task, type Update } from '../../client/index.js'
import { graphOf, workflowUri } from '../../orchestrator/index.js'
import type { Output } from '../output.js'
import { oneLine, shellWord } from '../printable.js'
import { answerHint, answerText, contentText, stateName, taskHasFiles } from '../task-text.js'

export async function followRun(updates: AsyncIterable<Update>, output: Output): Promise<Task> {
  const { task } = await collect(toldOn(output, updates))
  if (!task) throw new Error('The agent answered with a message: it is no workflow')
  return task
}

/** What came of a run goes to stdout; which run that was, and how to look at it again, is told beside it. */
export function showRun(task: Task, named: string, output: Output): void {
  const graph = graphOf(task)
  output.result({ task, ...(graph && { graph }) }, () => output.said(resultText(task)))
  const place = `${named} ${shellWord(oneLine(task.id))}`
  const { state } = task.status
  output.note(`Run ${oneLine(task.id)} is ${stateName(state)}`)
  if (isInterrupted(state))
    output.note(`It waits for an answer: dragoman workflow resume ${place} ${answerHint(task.status.message)}`)
  else if (!isTerminal(state)) output.note(`Follow it: dragoman workflow resume ${place}`)
  if (graph) output.note(`Its steps:  dragoman workflow graph ${place}`)
  if (isTerminal(state)) output.note(`Its result: dragoman task get ${place}`)
  if (taskHasFiles(task)) output.note(`Its files:  dragoman task download ${place}`)
}

/** What the workflow itself made and said; one that leaves that to its steps has made what they made. */
export function resultText(task: Task): string {
  const made = (task.artifacts ?? []).filter((each) => graphOf({ ...task, artifacts: [each] }) === undefined)
  const own = made.filter(({ extensions }) => !extensions?.includes(workflowUri))
  const isLeftToSteps = own.length === 0 && task.status.state === 'TASK_STATE_COMPLETED'
  return answerText({ ...task, artifacts: isLeftToSteps ? made : own })
}

async function* toldOn(output: Output, updates: AsyncIterable<Update>): AsyncGenerator<Update> {
  for await (const update of updates) {
    // First of all: whoever goes away meanwhile can come back to it.
    if ('task' in update && !isTerminal(update.task.status.state)) output.note(`Run ${oneLine(update.task.id)}`)
    const status = 'statusUpdate' in update ? update.statusUpdate.status : undefined
    if (status?.state === 'TASK_STATE_WORKING' && status.message)
      output.note(contentText(status.message.parts).trimEnd())
    yield update
    // A subscription goes on behind a question; whoever reads this has to answer it first.
    if (status && isInterrupted(status.state)) return
  }
}
