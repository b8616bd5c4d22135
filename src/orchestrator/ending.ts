/** How a run ends: with what its function returned, or with what it threw. */
import { artifact, type Content, failed, type StatusDraft, type Yield } from '../engine/yields.js'
import { A2AError } from '../model/errors.js'
import { StepError } from './step-error.js'
import { StepResult } from './step-result.js'

/**
 * What the function of a workflow returns: nothing, the result (an artifact called `result`), a step's result,
 * or `completed(…)`, `failed(…)`, `rejected(…)`.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing returns `void`
export type WorkflowEnd = void | Content | StepResult | StatusDraft

/** Why a run failed; `text` is for whoever started it, and is absent when it is none of his business. */
export interface Failure {
  readonly text?: string
  readonly error?: unknown
}

export function endOf(value: WorkflowEnd): readonly Yield[] {
  if (value === undefined) return []
  if (value instanceof StepResult)
    return value.parts.length > 0 ? [artifact('result', value.parts, { id: 'result' })] : []
  if (typeof value === 'object' && 'kind' in value) return [value]
  return [artifact('result', value, { id: 'result' })]
}

export function failureOf(error: unknown): Failure {
  const isForPeer = error instanceof StepError || error instanceof RunTimeoutError || error instanceof A2AError
  return isForPeer ? { text: error.message } : { error }
}

/** What nobody outside may read is thrown: the engine logs it and says no more than that the agent failed (E-8). */
export function endOfFailure({ text, error }: Failure): readonly Yield[] {
  if (text !== undefined) return [failed(text)]
  throw error ?? new Error('The workflow failed in an earlier attempt')
}

export class RunTimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`The workflow was not done within ${timeoutMs} ms`)
  }
}
