import type { Task } from '../model/task.js'
import type { StepRecord } from './step-record.js'
import { StepResult } from './step-result.js'

/** The result of a step that was done in an earlier attempt or turn: its artifacts are artifacts of the run. */
export function recordedResult(name: string, record: StepRecord, run: Task): StepResult {
  const { agent = '', taskId, status, artifacts = [] } = record
  const byId = new Map((run.artifacts ?? []).map((each) => [each.artifactId, each]))
  const made = artifacts.flatMap((artifactId) => {
    const kept = byId.get(`${name}/${artifactId}`)
    return kept ? [{ ...kept, artifactId }] : []
  })
  const task = taskId !== undefined && status && { id: taskId, contextId: run.contextId, status, artifacts: made }
  return new StepResult({ name, agent, artifacts: made, task: task || undefined })
}
