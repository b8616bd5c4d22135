/**
 * An agent of the OpenAI Agents SDK as an A2A agent. A tool that needs an approval is a question; the state of the run is a
 * checkpoint of the task until the answer arrives, also in another process.
 */
import type {
  AgentInputItem,
  Runner,
  RunState,
  RunToolApprovalItem,
  Agent as SdkAgent,
  StreamedRunResult,
} from '@openai/agents-core'
import { type Agent, type AgentInit, agent, type Turn } from '../../engine/agent.js'
import { approve, artifact, failed, rejected, type Yield } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import { isStruct } from '../../model/json-schema.js'
import { loadPackage } from '../../model/load-package.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { data } from '../../model/part.js'
import type { Usage } from '../../model/usage.js'
import { agentInit, earlierTasks } from '../agent-init.js'
import { parseJson, toJson } from '../json.js'
import { RunOutput } from './run-output.js'
import { sessionOf, userItem } from './session.js'

// biome-ignore lint/suspicious/noExplicitAny: agents of any context and output type; the SDK has no wider type.
type AnyAgent = SdkAgent<any, any>
type AnyState = RunState<unknown, AnyAgent>

/** Options of `fromOpenAiAgent`. */
export interface FromOpenAiAgentOptions {
  /**
   * The runner, with its models, guardrails and tracing. Default: a new one that sends no traces. Traces of your own
   * runner go to OpenAI unless you disable them.
   */
  readonly runner?: Runner
  /** Returns the context of a run, which tools read. It is stored with the run while a question is open, so it must be JSON. */
  readonly context?: (turn: Turn) => unknown
  /** The maximum number of model calls in a turn. Default: that of the runner. */
  readonly maxTurns?: number
  /** The maximum number of earlier tasks of the conversation that the model sees, 0 to 100. Default 20. */
  readonly maxEarlierTasks?: number
}

const optionNames = {
  runner: true,
  context: 'function',
  maxTurns: 'number',
  maxEarlierTasks: earlierTasks,
} satisfies NamesOf<FromOpenAiAgentOptions>

/**
 * Creates an A2A agent from an agent of the OpenAI Agents SDK.
 *
 * ```ts
 * await serve(fromOpenAiAgent(new Agent({ name: 'Payer', tools }), { name: 'Payer' }))
 * ```
 */
export function fromOpenAiAgent(
  inner: AnyAgent,
  card: string | AgentInit,
  options: FromOpenAiAgentOptions = {},
): Agent {
  assertOptions('fromOpenAiAgent', options, optionNames)
  if (!isObject(inner) || typeof inner.name !== 'string')
    throw new TypeError(
      "fromOpenAiAgent needs an agent of the SDK: fromOpenAiAgent(new Agent({ name: 'Payer' }), card)",
    )
  let runner = options.runner
  return agent(agentInit(card, 'fromOpenAiAgent'), async function* (turn: Turn) {
    const sdk = await loadSdk()
    runner ??= new sdk.Runner({ tracingDisabled: true })
    const start = await startOf(turn, inner, options, sdk)
    if ('yields' in start) yield* start.yields
    else yield* runTurn(turn, runner, inner, start, options, sdk)
  })
}

type Sdk = typeof import('@openai/agents-core')

/** The package takes half a second to load. */
async function loadSdk(): Promise<Sdk> {
  return await loadPackage('dragoman/openai-agents', '@openai/agents-core', import('@openai/agents-core'))
}

/** The key of `{ turn, state }`: the run that waits for the answer to the question of that turn. */
const key = 'openai-agents:run'
/** The engine refuses checkpoints of more than a million characters of JSON. */
const maxCharacters = 950_000

type Start =
  | { readonly input: AgentInputItem[] | AnyState; readonly counted?: Usage }
  | { readonly yields: readonly Yield[] }

/** The input of the run: the message, or the run that waits with the decisions of the message. */
async function startOf(turn: Turn, inner: AnyAgent, options: FromOpenAiAgentOptions, sdk: Sdk): Promise<Start> {
  const saved = turn.checkpoints.get(key)
  const text = isStruct(saved) && typeof saved.state === 'string' ? saved.state : undefined
  const decisions = turn.approvals
  // An earlier attempt of this turn stored its run and died before it asked.
  const isRepeated = text !== undefined && isStruct(saved) && saved.turn === turn.number
  if (!decisions && !isRepeated) return { input: [userItem(turn.message.parts)] }
  if (text === undefined) return { yields: [failed('The run that waited for this answer was not stored')] }
  const state = await restore(text, turn, inner, options, sdk)
  const waiting = state.getInterruptions()
  if (!decisions || isRepeated) return { yields: [questionOf(waiting)] }
  for (const [id, item] of withIds(waiting)) {
    const { approved = false, reason } = decisions.get(id) ?? {}
    if (approved) state.approve(item)
    else state.reject(item, reason === undefined ? {} : { message: reason })
  }
  return { input: state, counted: countOf(state) }
}

async function restore(
  text: string,
  turn: Turn,
  inner: AnyAgent,
  { context }: FromOpenAiAgentOptions,
  { RunContext, RunState }: Sdk,
): Promise<AnyState> {
  if (!context) return await RunState.fromString(inner, text)
  return await RunState.fromStringWithContext(inner, text, new RunContext(context(turn)))
}

async function* runTurn(
  turn: Turn,
  runner: Runner,
  inner: AnyAgent,
  { input, counted = {} }: Extract<Start, { input: unknown }>,
  { context, maxTurns, maxEarlierTasks = 20 }: FromOpenAiAgentOptions,
  sdk: Sdk,
): AsyncGenerator<Yield, void, void> {
  let run: StreamedRunResult<unknown, AnyAgent> | undefined
  try {
    run = await runner.run(inner, input, {
      stream: true,
      signal: turn.signal,
      session: sessionOf(turn, maxEarlierTasks),
      ...(context && Array.isArray(input) && { context: context(turn) }),
      ...(maxTurns !== undefined && { maxTurns }),
    })
    // The loop over the events throws the error too.
    run.completed.catch(() => undefined)
    yield* outputOf(run, turn, runner, inner)
  } catch (error) {
    const refusal = refusalOf(error, sdk)
    if (refusal === undefined) throw error
    yield rejected(refusal)
    return
  } finally {
    if (run) turn.usage.add(difference(countOf(run.state), counted))
  }
  if (run.interruptions.length === 0) return
  const state = run.state.toString()
  const size = JSON.stringify(state).length
  if (size > maxCharacters) {
    yield failed(`The run has ${size} characters; a run that waits for an answer can have ${maxCharacters} at most`)
    return
  }
  await turn.checkpoint(key, { turn: turn.number, state })
  yield questionOf(run.interruptions)
}

async function* outputOf(
  run: StreamedRunResult<unknown, AnyAgent>,
  turn: Turn,
  runner: Runner,
  inner: AnyAgent,
): AsyncGenerator<Yield, void, void> {
  // Text that an output guardrail may refuse is held back until the guardrail has accepted it. JSON is sent as data.
  const showsText = () => {
    const { outputGuardrails, outputType } = run.currentAgent ?? inner
    return outputType === 'text' && outputGuardrails.length === 0 && !runner.config.outputGuardrails?.length
  }
  const output = new RunOutput(turn.number, showsText)
  for await (const event of run) yield* output.read(event)
  await run.completed
  if (run.interruptions.length > 0) return
  const final: unknown = run.finalOutput
  if (typeof final === 'string') yield* output.finish(final)
  else if (final !== undefined && final !== null) yield artifact('result', data(toJson(final) ?? null))
}

/** The text for the caller if a guardrail or the model refused; undefined for other errors. */
function refusalOf(error: unknown, sdk: Sdk): string | undefined {
  if (error instanceof sdk.ModelRefusalError) return error.refusal
  if (error instanceof sdk.InputGuardrailTripwireTriggered)
    return `Refused by the guardrail ${error.result.guardrail.name}`
  if (error instanceof sdk.OutputGuardrailTripwireTriggered)
    return `The answer was refused by the guardrail ${error.result.guardrail.name}`
  if (
    error instanceof sdk.ToolInputGuardrailTripwireTriggered ||
    error instanceof sdk.ToolOutputGuardrailTripwireTriggered
  )
    return `Refused by the guardrail ${error.result.guardrail.name}`
  return undefined
}

function questionOf(items: readonly RunToolApprovalItem[]): Yield {
  return approve(
    withIds(items).map(([id, { name = 'tool', arguments: args = '{}' }]) => ({
      id,
      name,
      args: parseJson(args, args),
    })),
  )
}

/** Approvals by the id of the tool call. Hosted tools may have none. */
function withIds(items: readonly RunToolApprovalItem[]): readonly (readonly [id: string, item: RunToolApprovalItem])[] {
  const taken = new Set<string>()
  return items.map((item, place) => {
    const { rawItem } = item
    const own = 'callId' in rawItem && rawItem.callId ? rawItem.callId : rawItem.id
    const id = own && own.length <= 255 && !taken.has(own) ? own : `call-${place + 1}`
    taken.add(id)
    return [id, item] as const
  })
}

function countOf({ usage: counted }: AnyState): Usage {
  const { inputTokens, outputTokens, totalTokens, inputTokensDetails } = counted
  const cachedTokens = inputTokensDetails.reduce((sum, details) => sum + (details.cached_tokens ?? 0), 0)
  return { inputTokens, outputTokens, totalTokens, cachedTokens }
}

/** The state of a run counts from its beginning, the usage of a turn from that of the turn. */
function difference(now: Usage, before: Usage): Usage {
  const names = ['inputTokens', 'outputTokens', 'totalTokens', 'cachedTokens'] as const
  return Object.fromEntries(names.map((name) => [name, Math.max(0, (now[name] ?? 0) - (before[name] ?? 0))]))
}
