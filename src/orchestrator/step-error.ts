/** A step that nobody could do. Its message may be told to whoever started the run. */
export class StepError extends Error {
  /** The name of the step. */
  readonly step: string
  /** Who was asked last. */
  readonly agent: string

  constructor(step: string, agent: string, why: string, cause?: unknown) {
    super(`Step ${step} failed: ${why}`, cause === undefined ? undefined : { cause })
    this.name = 'StepError'
    this.step = step
    this.agent = agent
  }
}
