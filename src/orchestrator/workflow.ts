import { type Agent, type AgentInit, agent, type InputOf, initOf, type SkillInit, type Turn } from '../engine/agent.js'
import { firstData } from '../engine/execution/turn.js'
import { type AskOptions, artifact, ask, type Content, working } from '../engine/yields.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type JsonValue, type Part, textOf } from '../model/part.js'
import { abandonRun } from './abandon-run.js'
import type { Flow, Step, Steps, WorkflowAnswer } from './flow.js'
import { workflowUri } from './graph.js'
import { type AgentResolver, StepAgents } from './step-agents.js'
import type { StepResult } from './step-result.js'
import type { WorkflowEnd } from './workflow-run.js'
import { WorkflowRun } from './workflow-run.js'

/** Options of `workflow`. */
export interface WorkflowOptions {
  /** Finds agents that are not served with the workflow. Default: names are used as addresses. */
  readonly resolve?: AgentResolver
  /** Time limit of a run, including the time that questions wait for an answer. Default: none. */
  readonly timeoutMs?: number
}

const optionNames = { resolve: true, timeoutMs: true } satisfies NamesOf<WorkflowOptions>

/** Limits how often a run that crashes its process is restarted. */
const defaultAttempts = 20

/**
 * Creates an agent that has other agents do its work. The function is ordinary code; each of its steps is done once, also
 * across crashes.
 *
 * ```ts
 * const travel = workflow('Travel', async (flow) => {
 *   const flight = await flow.step('flight', { agent: 'FlightAgent', message: flow.text })
 *   const [hotel] = await Promise.all([
 *     flow.step('hotel', { agent: 'HotelAgent', message: ['Book a hotel for this flight', flight] }),
 *     flow.step('snowmobile', { agent: 'ActivityAgent', message: 'Book a snowmobile tour', after: [flight] }),
 *   ])
 *   return hotel
 * })
 * ```
 */
export function workflow<const Skills extends readonly SkillInit[] = readonly []>(
  card: string | AgentInit<Skills>,
  body: (flow: Flow<InputOf<Skills>>) => Promise<WorkflowEnd>,
  options: WorkflowOptions = {},
): Agent {
  const init = initOf(card, "A workflow needs a name and a function: workflow('Travel', async (flow) => { … })")
  if (typeof body !== 'function')
    throw new TypeError(
      `The function of workflow ${init.name} is missing: workflow('${init.name}', async (flow) => { … })`,
    )
  assertOptions('workflow', options, optionNames)
  const agents = new StepAgents(options.resolve)
  const hasSchemas = init.skills?.some(({ input }) => input !== undefined) ?? false
  const made = agent(withDefaults(init), (turn: Turn<unknown>) =>
    new WorkflowRun({
      name: init.name,
      turn,
      agents,
      // `data()` returns what the schemas of these skills have validated.
      body: async (run) => await body((await flowOf(run, hasSchemas)) as Flow<InputOf<Skills>>),
      timeoutMs: options.timeoutMs,
    }).drive(),
  )
  return {
    ...made,
    isWorkflow: true,
    onAbandoned: (abandoned) => abandonRun({ ...abandoned, agents }),
    onDrained: () => agents.close(),
  }
}

function withDefaults(init: AgentInit): AgentInit {
  const declared = {
    uri: workflowUri,
    description: 'Workflow runs: the artifact `workflow-graph` contains their steps',
  }
  return {
    onCrash: { attempts: defaultAttempts },
    ...init,
    extensions: [...(init.extensions ?? []), declared],
  }
}

/** Uses the message that started the run in every turn, because the function runs from its start each time. */
async function flowOf(run: WorkflowRun, hasSchemas: boolean): Promise<Flow<unknown>> {
  const { turn } = run
  const message =
    turn.number === 1 ? turn.message : (turn.history.find(({ role }) => role === 'ROLE_USER') ?? turn.message)
  const input = turn.number === 1 ? turn.data() : (turn.checkpoints.get('input') ?? firstData(message))
  // Schemas may transform the data; later turns see only the original message.
  if (hasSchemas && turn.number === 1 && input !== undefined) await run.note('input', input as JsonValue)
  return {
    ...stepsOf(run),
    text: textOf(message),
    message,
    data: () => input,
    contextId: turn.contextId,
    taskId: turn.task.id,
    caller: turn.caller,
    signal: turn.signal,
    artifact: (name, content, more) => run.post(artifact(name, content, { ...more, id: `own/${name}` })),
    progress: (content) => run.post(working(content)),
  }
}

const defaultConcurrency = 8
/** Fingerprint of the workflow's own questions: the step name identifies them. */
const ownQuestion = 'own'

const stepNames = {
  agent: true,
  message: true,
  after: true,
  metadata: true,
  retry: { attempts: true, delayMs: true } satisfies NamesOf<NonNullable<Step['retry']>>,
  timeoutMs: true,
  fallback: true,
  retryBudgetMs: true,
  compensate: true,
} satisfies NamesOf<Step>

/** The steps of a run or, with a prefix, of one round of a loop. */
function stepsOf(run: WorkflowRun, prefix = ''): Steps {
  const given = <Value>(work: Promise<Value>) => promiseForFunction(run, work)
  const steps: Steps = {
    step: (name, step) => given(runStep(run, `${prefix}${name}`, step)),
    each: (name, items, stepOf, options = {}) =>
      given(each(items, options, (item, index) => steps.step(`${name}[${index + 1}]`, stepOf(item, index)))),
    loop: (name, max, round) => given(loop(run, `${prefix}${name}`, max, round)),
    ask: (name, question, options) => given(askCaller(run, `${prefix}${name}`, question, options)),
    once: (name, work) => given(once(run, `${prefix}${name}`, work)),
  }
  return steps
}

/**
 * Wraps the promise for the workflow function. It stays pending when the turn is over: the function runs again in the next
 * turn, so its `catch` and `finally` blocks must not run in this one.
 */
function promiseForFunction<Value>({ over }: WorkflowRun, work: Promise<Value>): Promise<Value> {
  const promise = new Promise<Value>((resolve, reject) => {
    work.then(resolve, (error: unknown) => {
      if (error !== over) reject(error)
    })
  })
  // Otherwise the rejection would end the process if the function awaits something else at that moment.
  promise.catch(() => undefined)
  return promise
}

async function runStep(run: WorkflowRun, name: string, step: Step): Promise<StepResult> {
  assertOptions(`the step ${name}`, step, stepNames)
  return await run.step(name, step)
}

async function each<Item>(
  items: readonly Item[],
  options: { readonly concurrency?: number },
  work: (item: Item, index: number) => Promise<StepResult>,
): Promise<readonly StepResult[]> {
  assertOptions('each', options, { concurrency: true })
  const { concurrency = defaultConcurrency } = options
  const results: StepResult[] = []
  const entries = items.entries()
  const worker = async () => {
    for (const [index, item] of entries) results[index] = await work(item, index)
  }
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, items.length)) }, worker))
  return results
}

async function loop<Result>(
  run: WorkflowRun,
  name: string,
  max: number,
  round: (steps: Steps, number: number) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  for (let number = 1; number <= max; number++) {
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
  const open = record ?? { kind: 'ask', state: 'asking', startedAt: now, attempt: 1, attemptAt: now }
  const answer = run.answerTo(name, ownQuestion)
  if (!answer) {
    if (!record) await run.write(name, open)
    return await run.ask(name, ownQuestion, ask(question, options))
  }
  const value = answer.parts as unknown as JsonValue // parts are JSON values
  await run.write(name, { ...open, state: 'completed', endedAt: now, value })
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
  if (record) return record.value as Value // written below
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
