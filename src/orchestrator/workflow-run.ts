/**
 * One turn of a run. The workflow function runs from its start in each turn; completed steps return their stored results
 * at once. The turn ends with a result, a failure or a question.
 *
 * When a turn ends with a question, is cancelled or handed over, open work rejects with `over`. The function does not see
 * that error: its promises stay pending, and the next turn runs it again. Agents continue their tasks, unless the run was
 * cancelled.
 */
import { systemTiming } from '../client/retry.js'
import type { Turn } from '../engine/agent.js'
import { stopReasonOf } from '../engine/execution/stop.js'
import type { StatusDraft, Yield } from '../engine/yields.js'
import { artifact, type Content, failed } from '../engine/yields.js'
import { A2AError } from '../model/errors.js'
import type { Message } from '../model/message.js'
import type { JsonValue } from '../model/part.js'
import type { Task } from '../model/task.js'
import { cancelChildren, undoable } from './abandon-run.js'
import type { Step } from './flow.js'
import { GraphPublisher } from './graph.js'
import { Outbox } from './outbox.js'
import type { StepAgents } from './step-agents.js'
import { type OpenQuestion, recordsIn, type StepRecord, stepKey, undoName } from './step-record.js'
import { StepError, StepResult } from './step-result.js'
import { type StepHost, StepRun } from './step-run.js'
import { createTimeLimit } from './time-limit.js'

interface WorkflowRunStart {
  readonly name: string
  readonly turn: Turn<unknown>
  readonly agents: StepAgents
  readonly body: (run: WorkflowRun) => Promise<WorkflowEnd>
  /** Time limit of the whole run. */
  readonly timeoutMs: number | undefined
}

interface ActiveStep {
  readonly kind: 'step' | 'undo'
  readonly run: StepRun
  readonly work: Promise<unknown>
}

const maxTaskIdWaitMs = 1_000

export class WorkflowRun implements StepHost {
  readonly turn: Turn<unknown>
  readonly agents: StepAgents
  readonly records: Map<string, StepRecord>
  /** Rejection of work that stops because the turn is over, or because the run failed and undoes its steps. */
  readonly over = new DOMException('The turn is over', 'AbortError')
  readonly #start: WorkflowRunStart
  readonly #outbox = new Outbox()
  readonly #graph: GraphPublisher
  readonly #leaving = new AbortController()
  readonly #names = new Set<string>()
  readonly #active = new Map<string, ActiveStep>()
  readonly #question: OpenQuestion | undefined
  readonly #delivery: Promise<void>
  #deliver: () => void = () => undefined
  #isAsking = false
  isFailing = false

  constructor(start: WorkflowRunStart) {
    this.#start = start
    this.turn = start.turn
    this.agents = start.agents
    const { checkpoints, number } = start.turn
    this.records = recordsIn(checkpoints)
    this.#graph = new GraphPublisher(start.name, this.records, (draft) => this.post(draft))
    const question = checkpoints.get('question') as OpenQuestion | undefined // written by `ask`
    this.#question = question && question.askedIn < number ? question : undefined
    this.#delivery = new Promise((resolve) => {
      this.#deliver = resolve
    })
    // An earlier attempt of this turn may have delivered the answer already.
    const asking = this.#question && this.records.get(this.#question.step)
    if (asking?.state !== 'running' && asking?.state !== 'asking') this.#deliver()
  }

  /** Aborted when this turn is over. */
  get left(): AbortSignal {
    return this.#leaving.signal
  }

  async *drive(): AsyncGenerator<Yield, void, void> {
    const { signal } = this.turn
    const onStop = () => void this.#stopped()
    signal.addEventListener('abort', onStop)
    if (signal.aborted) onStop()
    else void this.#run()
    try {
      for (;;) {
        const item = await this.#outbox.next()
        if (!item) return
        // A stopped turn yields nothing more, but waits for calls that are starting.
        if (signal.aborted) continue
        if ('output' in item) {
          yield item.output
          item.taken?.()
        } else item.written(this.turn.checkpoint(item.key, item.value, item.options))
      }
    } finally {
      signal.removeEventListener('abort', onStop)
      this.#outbox.end(this.over)
      this.#graph.stop()
      this.#leaving.abort(this.over)
    }
  }

  /** As `yield`, without waiting. */
  post(output: Yield): void {
    this.#outbox.post(output)
  }

  /** Resolves when the log has taken the yield; rejects with `over` if the turn ends first. */
  yield(output: Yield): Promise<void> {
    return this.#outbox.yield(output)
  }

  /** Waits; rejects with `over` if the turn ends first. */
  async pause(ms: number): Promise<void> {
    await systemTiming.wait(ms, this.left).catch(() => {
      throw this.over
    })
  }

  async write(name: string, record: StepRecord): Promise<void> {
    const before = this.records.get(name)
    this.records.set(name, record)
    await this.note(stepKey(name), record as unknown as JsonValue) // JSON values only
    if (!before || isVisibleChange(before, record)) this.#graph.changed()
  }

  /** Writes a checkpoint. Rejects with `over` when the turn can write no more. */
  async note(key: string, value: JsonValue): Promise<void> {
    try {
      // A run that fails for lack of checkpoint space can still store its compensations.
      await this.#outbox.write(key, value, { fromReserve: this.isFailing })
    } catch (error) {
      throw error instanceof TypeError ? error : this.over
    }
  }

  /** Names must be unique, because steps are found again by name. */
  claimName(name: string): void {
    stepKey(name)
    if (this.#names.has(name)) throw new TypeError(`Two steps have the name ${name}; names must be unique within a run`)
    this.#names.add(name)
  }

  async step(name: string, step: Step, kind: ActiveStep['kind'] = 'step'): Promise<StepResult> {
    this.claimName(name)
    const record = this.records.get(name)
    if (record?.state === 'completed') return recordedResult(name, record, this.turn.task)
    if (record?.state === 'failed' || record?.state === 'canceled')
      throw new StepError(name, record.agent ?? '', record.error ?? record.state)
    if (this.isFailing && kind === 'step') throw this.over
    const run = new StepRun(this, name, step, kind)
    const work = run.result()
    this.#active.set(name, { kind, run, work })
    try {
      return await work
    } finally {
      this.#active.delete(name)
    }
  }

  /** The message of this turn, if it answers the question. */
  answerTo(step: string, fingerprint: string): Message | undefined {
    const isAnswer = this.#question?.step === step && this.#question.fingerprint === fingerprint
    return isAnswer ? this.turn.message : undefined
  }

  /** The answer has reached the step, or is no longer needed. */
  delivered(step: string): void {
    if (this.#question?.step === step) this.#deliver()
  }

  /** Ends the turn with a question. Other steps that ask at the same time ask again in the next turn. */
  async ask(step: string, fingerprint: string, question: StatusDraft): Promise<never> {
    // The turn must not end before its own answer was delivered.
    await this.#delivery
    if (this.#isAsking || this.isFailing) throw this.over
    this.#isAsking = true
    await this.#awaitTaskIds()
    const asked: OpenQuestion = { step, askedIn: this.turn.number, fingerprint }
    await this.note('question', asked as unknown as JsonValue)
    await this.yield(this.#graph.draft())
    this.post(question)
    this.#outbox.close()
    throw this.over
  }

  /** Waits briefly for the task ids of new steps, so that they can be cancelled while the question is open. */
  async #awaitTaskIds(): Promise<void> {
    const ids = Array.from(this.#active.values(), ({ run }) => run.taskIdKnown())
    await Promise.race([Promise.all(ids), this.pause(maxTaskIdWaitMs)])
  }

  async #run(): Promise<void> {
    try {
      const end = await this.#outcome()
      for (const each of end) this.post(each)
      this.#outbox.close()
    } catch (error) {
      // `over`: the turn has ended in another way.
      if (error !== this.over) this.#outbox.fail(error)
    }
  }

  async #outcome(): Promise<readonly Yield[]> {
    // A stored failure is final: some steps may be undone already.
    const recorded = this.turn.checkpoints.get('failure') as Failure | undefined // written below
    if (recorded) return await this.#failed(recorded)
    try {
      const value = await this.#withinTime(() => this.#start.body(this))
      // Waits also for steps that the function did not await.
      while (this.#active.size > 0) await Promise.allSettled(Array.from(this.#active.values(), ({ work }) => work))
      const end = endOf(value)
      await this.yield(this.#graph.draft())
      return end
    } catch (error) {
      if (error === this.over) throw error
      const failure = runFailureOf(error)
      this.isFailing = true
      await this.note('failure', failure.text === undefined ? {} : { text: failure.text })
      return await this.#failed(failure)
    }
  }

  /** Cancels open steps and undoes completed ones, the last one first. Failed compensations are visible in the graph. */
  async #failed(failure: Failure): Promise<readonly Yield[]> {
    this.isFailing = true
    await this.#cancelActive()
    for (const name of this.#active.keys()) await this.#writeCanceled(name)
    const { task, caller } = this.turn
    // Steps of an earlier attempt of this turn.
    await cancelChildren(this.records, { task, caller, service: (ref) => this.turn.service(ref), agents: this.agents })
    for (const name of this.records.keys()) await this.#writeCanceled(name)
    for (const [name, record] of undoable(this.records)) {
      const { agent = '', parts = [] } = record.undo ?? {}
      const after = [recordedResult(name, record, task)]
      await this.step(undoName(name), { agent, message: parts, after }, 'undo').catch(() => undefined)
    }
    await this.yield(this.#graph.draft())
    return endOfFailure(failure)
  }

  async #withinTime(body: () => Promise<WorkflowEnd>): Promise<WorkflowEnd> {
    const { timeoutMs } = this.#start
    if (timeoutMs === undefined) return await body()
    const begun = this.turn.checkpoints.get('begun') ?? Date.now()
    await this.note('begun', begun)
    const limit = createTimeLimit(this.left)
    limit.at(Number(begun) + timeoutMs)
    const late = new Promise<never>((_, reject) => {
      limit.signal.addEventListener('abort', () => {
        reject(limit.isLate ? new RunTimeoutError(timeoutMs) : this.over)
      })
    })
    try {
      return await Promise.race([body(), late])
    } finally {
      limit[Symbol.dispose]()
    }
  }

  /** Cancels the tasks of open steps, unless the run is handed over to another process, which finds them again. */
  async #stopped(): Promise<void> {
    const stop = stopReasonOf(this.turn.signal)
    if (stop === 'cancel' || stop === 'failed' || stop === 'no-room') await this.#cancelActive()
    this.#outbox.close()
  }

  /** Compensations are not cancelled. */
  async #cancelActive(): Promise<void> {
    const steps = [...this.#active.values()].filter(({ kind }) => kind === 'step')
    await Promise.all(steps.map(({ run }) => run.cancel()))
  }

  async #writeCanceled(name: string): Promise<void> {
    const record = this.records.get(name)
    const isOpen = record?.state === 'running' || record?.state === 'asking'
    if (record && isOpen && record.kind !== 'undo')
      await this.write(name, { ...record, state: 'canceled', endedAt: Date.now() })
  }
}

/** Includes a new task id, so that followers can read the task of a running step. */
function isVisibleChange(before: StepRecord, { state, attempt, taskId }: StepRecord): boolean {
  return before.state !== state || before.attempt !== attempt || before.taskId !== taskId
}

/**
 * The return value of a workflow function: nothing, content or a step's result (sent as the artifact `result`), or
 * `completed(…)`, `failed(…)`, `rejected(…)`.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing returns `void`
export type WorkflowEnd = void | Content | StepResult | StatusDraft

/** Why a run failed. `text` is for the caller; absent if the caller must not see the reason. */
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

function runFailureOf(error: unknown): Failure {
  const isForPeer = error instanceof StepError || error instanceof RunTimeoutError || error instanceof A2AError
  return isForPeer ? { text: error.message } : { error }
}

/** Throws errors that callers must not see; the engine logs them and sends a neutral message (E-8). */
function endOfFailure({ text, error }: Failure): readonly Yield[] {
  if (text !== undefined) return [failed(text)]
  throw error ?? new Error('The workflow failed in an earlier attempt')
}

class RunTimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`The workflow did not finish within ${timeoutMs} ms`)
  }
}

/** Restores the result of a step that was completed in an earlier turn or attempt, from the artifacts of the run. */
function recordedResult(name: string, record: StepRecord, run: Task): StepResult {
  const { agent = '', taskId, status, artifacts = [] } = record
  const byId = new Map((run.artifacts ?? []).map((each) => [each.artifactId, each]))
  const stepArtifacts = artifacts.flatMap((artifactId) => {
    const artifact = byId.get(`${name}/${artifactId}`)
    return artifact ? [{ ...artifact, artifactId }] : []
  })
  const task = taskId !== undefined &&
    status && { id: taskId, contextId: run.contextId, status, artifacts: stepArtifacts }
  return new StepResult({ name, agent, artifacts: stepArtifacts, task: task || undefined })
}
