/** The steps that the function of a workflow sees, under names that begin with those of the rounds around them. */

import { firstData } from '../engine/execution/turn.js'
import { type AskOptions, ask, type Content } from '../engine/yields.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type JsonValue, type Part, textOf } from '../model/part.js'
import type { Step, Steps, WorkflowAnswer } from './flow.js'
import type { StepResult } from './step-result.js'
import type { WorkflowRun } from './workflow-run.js'

const usuallyAtOnce = 8
/** A question of the workflow is always the same one: its name says which. */
const ownQuestion = 'own'

const stepNames = {
  agent: true,
  message: true,
  after: true,
  metadata: true,
  retry: { attempts: true, delayMs: true } satisfies NamesOf<NonNullable<Step['retry']>>,
  timeoutMs: true,
  fallback: true,
  patienceMs: true,
  compensate: true,
} satisfies NamesOf<Step>

export function stepsOf(run: WorkflowRun, prefix = ''): Steps {
  const given = <Value>(work: Promise<Value>) => promiseForFunction(run, work)
  const steps: Steps = {
    step: (name, step) => given(runStep(run, `${prefix}${name}`, step)),
    each: (name, items, stepOf, options = {}) =>
      given(each(items, options, (item, place) => steps.step(`${name}[${place + 1}]`, stepOf(item, place)))),
    loop: (name, most, round) => given(loop(run, `${prefix}${name}`, most, round)),
    ask: (name, question, options) => given(askCaller(run, `${prefix}${name}`, question, options)),
    once: (name, work) => given(once(run, `${prefix}${name}`, work)),
  }
  return steps
}

/**
 * Makes the promise that the function of the workflow gets. It stays pending when the turn is over: the function runs again
 * in the next turn, so its `catch` and `finally` blocks must not run in this one.
 */
function promiseForFunction<Value>({ over }: WorkflowRun, work: Promise<Value>): Promise<Value> {
  const promise = new Promise<Value>((resolve, reject) => {
    work.then(resolve, (error: unknown) => {
      if (error !== over) reject(error)
    })
  })
  // A rejection ends the process if the function awaits something else at that moment.
  promise.catch(() => undefined)
  return promise
}

async function runStep(run: WorkflowRun, name: string, step: Step): Promise<StepResult> {
  assertOptions(`the step ${name}`, step, stepNames)
  return await run.step(name, step)
}

async function each<Item>(
  items: readonly Item[],
  options: { readonly atOnce?: number },
  work: (item: Item, place: number) => Promise<StepResult>,
): Promise<readonly StepResult[]> {
  assertOptions('each', options, { atOnce: true })
  const { atOnce = usuallyAtOnce } = options
  const results: StepResult[] = []
  const places = items.entries()
  const worker = async () => {
    for (const [place, item] of places) results[place] = await work(item, place)
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(atOnce, items.length)) }, worker))
  return results
}

async function loop<Result>(
  run: WorkflowRun,
  name: string,
  most: number,
  round: (steps: Steps, number: number) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  for (let number = 1; number <= most; number++) {
    const result = await round(stepsOf(run, `${name}[${number}]/`), number)
    if (result !== undefined) return result
  }
  return undefined
}

async function askCaller(
  run: WorkflowRun,
  name: string,
  question: Content,
  options: AskOptions = {},
): Promise<WorkflowAnswer> {
  run.claimName(name)
  const record = run.records.get(name)
  if (record?.state === 'completed') return answerOf(record.value as unknown as readonly Part[]) // written below
  const now = Date.now()
  const begun = record ?? { kind: 'ask', state: 'asking', startedAt: now, attempt: 1, attemptAt: now }
  const answer = run.answerTo(name, ownQuestion)
  if (!answer) {
    if (!record) await run.write(name, begun)
    return await run.ask(name, ownQuestion, ask(question, options))
  }
  const value = answer.parts as unknown as JsonValue // parts are JSON
  await run.write(name, { ...begun, state: 'completed', endedAt: now, value })
  run.delivered(name)
  return answerOf(answer.parts)
}

async function once<Value extends JsonValue>(
  run: WorkflowRun,
  name: string,
  work: () => Value | Promise<Value>,
): Promise<Value> {
  run.claimName(name)
  const record = run.records.get(name)
  if (record) return record.value as Value // written below, by the same code
  const startedAt = Date.now()
  const value = await work()
  const endedAt = Date.now()
  await run.write(name, {
    kind: 'once',
    state: 'completed',
    startedAt,
    endedAt,
    attempt: 1,
    attemptAt: startedAt,
    value,
  })
  return value
}

function answerOf(parts: readonly Part[]): WorkflowAnswer {
  return { text: textOf(parts), data: firstData({ parts }), parts }
}
