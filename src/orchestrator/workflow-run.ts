/**
 * One turn of a run: replays what is written down, goes on with the rest, and ends with a result, a failure or a
 * question. The function of the workflow runs from its beginning each time; steps that are done answer at once.
 *
 * When a turn ends with a question, is cancelled or handed over, work that is under way rejects with `over`. The function
 * does not see that error: its promises stay pending, and the next turn runs it again. Agents go on with their tasks,
 * unless the run was cancelled.
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
import { StepRun } from './step-run.js'
import { createTimeLimit } from './time-limit.js'

export interface WorkflowRunStart {
  readonly name: string
  readonly turn: Turn<unknown>
  readonly agents: StepAgents
  readonly body: (run: WorkflowRun) => Promise<WorkflowEnd>
  /** For the whole run. */
  readonly timeoutMs: number | undefined
}

interface ActiveStep {
  readonly kind: 'step' | 'undo'
  readonly run: StepRun
  readonly work: Promise<unknown>
}

const maxTaskIdWaitMs = 1_000

export class WorkflowRun {
  readonly turn: Turn<unknown>
  readonly agents: StepAgents
  readonly records: Map<string, StepRecord>
  /** Rejection of work that stops because the turn is over, or because the run has failed and undoes its steps. */
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
    this.#graph = new GraphPublisher(start.name, this.records, (draft) => this.tell(draft))
    const question = checkpoints.get('question') as OpenQuestion | undefined // written by `ask`
    this.#question = question && question.askedIn < number ? question : undefined
    this.#delivery = new Promise((resolve) => {
      this.#deliver = resolve
    })
    // An earlier attempt of this turn may have brought the answer to whoever asked already.
    const asking = this.#question && this.records.get(this.#question.step)
    if (asking?.state !== 'running' && asking?.state !== 'asking') this.#deliver()
  }

  /** Fires when this turn is over, however it ended. */
  get left(): AbortSignal {
    return this.#leaving.signal
  }

  async *drive(): AsyncGenerator<Yield, void, void> {
    const { signal } = this.turn
    const onStop = () => void this.#stopped()
    signal.addEventListener('abort', onStop)
    if (signal.aborted) onStop()
    else void this.#live()
    try {
      for (;;) {
        const item = await this.#outbox.next()
        if (!item) return
        // A turn that is stopped says no more; who is being asked just now is still waited for.
        if (signal.aborted) continue
        if ('say' in item) {
          yield item.say
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

  /** As `say`, for callers that do not wait. */
  tell(said: Yield): void {
    this.#outbox.tell(said)
  }

  /** Resolves when the log has taken the yield; rejects with `over` if the turn ends first. */
  say(said: Yield): Promise<void> {
    return this.#outbox.say(said)
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
    await this.note(stepKey(name), record as unknown as JsonValue) // made of JSON values
    if (!before || isNews(before, record)) this.#graph.changed()
  }

  /** Writes a checkpoint. Rejects with `over` when the turn can write no more. */
  async note(key: string, value: JsonValue): Promise<void> {
    try {
      // A run that fails because it has written too much down has room to undo what it did.
      await this.#outbox.write(key, value, { fromReserve: this.isFailing })
    } catch (error) {
      throw error instanceof TypeError ? error : this.over
    }
  }

  /** Every name means one step: that is how a step is found again. */
  claimName(name: string): void {
    stepKey(name)
    if (this.#names.has(name)) throw new TypeError(`Two steps are called ${name}: names are unique within a run`)
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

  /** The message of this turn, if it answers that question. */
  answerTo(step: string, fingerprint: string): Message | undefined {
    const isIt = this.#question?.step === step && this.#question.fingerprint === fingerprint
    return isIt ? this.turn.message : undefined
  }

  /** The answer has reached whoever asked, or nobody wants it any more. */
  delivered(step: string): void {
    if (this.#question?.step === step) this.#deliver()
  }

  /** Ends the turn with a question. One at a time: others that ask now ask again in the next turn. */
  async ask(step: string, fingerprint: string, question: StatusDraft): Promise<never> {
    // The turn must not end before the answer that it brought is where it belongs.
    await this.#delivery
    if (this.#isAsking || this.isFailing) throw this.over
    this.#isAsking = true
    await this.#settleNames()
    const asked: OpenQuestion = { step, askedIn: this.turn.number, fingerprint }
    await this.note('question', asked as unknown as JsonValue)
    await this.say(this.#graph.draft())
    this.tell(question)
    this.#outbox.close()
    throw this.over
  }

  /** Steps that were just begun get a moment to be under way: then they can be cancelled while the question is open. */
  async #settleNames(): Promise<void> {
    const names = Array.from(this.#active.values(), ({ run }) => run.named())
    await Promise.race([Promise.all(names), this.pause(maxTaskIdWaitMs)])
  }

  async #live(): Promise<void> {
    try {
      const end = await this.#outcome()
      for (const each of end) this.tell(each)
      this.#outbox.close()
    } catch (error) {
      // A turn that is over has ended in another way.
      if (error !== this.over) this.#outbox.fail(error)
    }
  }

  async #outcome(): Promise<readonly Yield[]> {
    // What failed once has failed, whatever a second look would say: some of it may be undone already.
    const recorded = this.turn.checkpoints.get('failure') as Failure | undefined // written below
    if (recorded) return await this.#failed(recorded)
    try {
      const value = await this.#withinTime(() => this.#start.body(this))
      // A step that nobody waits for is a step too.
      while (this.#active.size > 0) await Promise.allSettled(Array.from(this.#active.values(), ({ work }) => work))
      const end = endOf(value)
      await this.say(this.#graph.draft())
      return end
    } catch (error) {
      if (error === this.over) throw error
      const failure = runFailureOf(error)
      this.isFailing = true
      await this.note('failure', failure.text === undefined ? {} : { text: failure.text })
      return await this.#failed(failure)
    }
  }

  /** Stops what is under way, undoes what is done, the last first. What cannot be undone is in the graph. */
  async #failed(failure: Failure): Promise<readonly Yield[]> {
    this.isFailing = true
    await this.#cancelActive()
    for (const name of this.#active.keys()) await this.#writeCanceled(name)
    const { task, caller } = this.turn
    // What an earlier attempt left behind.
    await cancelChildren(this.records, { task, caller, service: (ref) => this.turn.service(ref), agents: this.agents })
    for (const name of this.records.keys()) await this.#writeCanceled(name)
    for (const [name, record] of undoable(this.records)) {
      const { agent = '', parts = [] } = record.undo ?? {}
      const after = [recordedResult(name, record, task)]
      await this.step(undoName(name), { agent, message: parts, after }, 'undo').catch(() => undefined)
    }
    await this.say(this.#graph.draft())
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

  /** Cancelled, failed or without room: the agents at work are cancelled. Handed over: they stay at work, and are found again. */
  async #stopped(): Promise<void> {
    const stop = stopReasonOf(this.turn.signal)
    if (stop === 'cancel' || stop === 'failed' || stop === 'no-room') await this.#cancelActive()
    this.#outbox.close()
  }

  /** What is being undone is undone to its end. */
  async #cancelActive(): Promise<void> {
    const steps = [...this.#active.values()].filter(({ kind }) => kind === 'step')
    await Promise.all(steps.map(({ run }) => run.cancel()))
  }

  async #writeCanceled(name: string): Promise<void> {
    const record = this.records.get(name)
    const isUnderWay = record?.state === 'running' || record?.state === 'asking'
    if (record && isUnderWay && record.kind !== 'undo')
      await this.write(name, { ...record, state: 'canceled', endedAt: Date.now() })
  }
}

/** Worth telling whoever watches: also which task it is, so that a step can be followed while it runs. */
function isNews(before: StepRecord, { state, attempt, taskId }: StepRecord): boolean {
  return before.state !== state || before.attempt !== attempt || before.taskId !== taskId
}

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

export function runFailureOf(error: unknown): Failure {
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
