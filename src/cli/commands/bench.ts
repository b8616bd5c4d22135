import { Command } from 'commander'
import { A2AError, type AgentClient, connect, TransportError } from '../../client/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  agentHelp,
  connectOptions,
  requireArguments,
  toPositive,
} from '../agent-options.js'
import { exitCodes } from '../failure.js'
import { Output } from '../output.js'
import { oneLine, onStderr, table } from '../printable.js'

interface Options extends AgentOptions {
  readonly requests?: number
  readonly duration?: number
  readonly concurrency: number
  readonly stream?: true
  readonly text: string
}

const defaultSeconds = 10
const redrawMs = 200

export function benchCommand(): Command {
  return addAgentOptions(
    new Command('bench')
      .description('Measure throughput and latency of an agent')
      .argument('[agent]', agentHelp)
      .option('-n, --requests <count>', 'number of messages to send', toPositive)
      .option(
        '-d, --duration <seconds>',
        `send for this many seconds (default: ${defaultSeconds}, unless --requests is given)`,
        toPositive,
      )
      .option('-c, --concurrency <count>', 'number of concurrent calls', toPositive, 10)
      .option('--stream', 'use streaming calls, and measure the time to the first event too')
      .option('--text <text>', 'text of each message', 'ping'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman bench localhost:8001
  dragoman bench localhost:8001 -n 5000 -c 50 --binding grpc
  dragoman bench localhost:8001 --stream --text "chunks 100" -d 30 -o json

The agent processes every message: use this on your own agents. The first message is not counted. A time covers
a whole call, up to the answer or the end of the stream. There are no retries. Failed tasks count as errors. Ctrl-C stops
and prints the results so far. The client runs on one core, which limits what it can measure.`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = requireArguments([first], options, [])
      const output = new Output(options.output)
      const agent = await connect(ref, {
        ...(await connectOptions(ref, options, output)),
        retry: { attempts: 1 },
        breaker: { failures: 0 },
      })
      try {
        const totals = await measure(agent, options)
        const { dialect, binding, url } = agent.choice
        output.result({ ref, dialect, binding, url, concurrency: options.concurrency, ...totals }, () =>
          totalsText(agent, options, totals),
        )
        if (totals.succeeded === 0 && totals.failed > 0) process.exitCode = exitCodes.error
      } finally {
        await agent.close()
      }
    })
}

async function measure(agent: AgentClient, options: Options): Promise<Totals> {
  const call = options.stream ? streamCall(agent, options.text) : unaryCall(agent, options.text)
  const stop = new AbortController()
  // A second Ctrl-C has no listener and ends the process.
  process.once('SIGINT', () => stop.abort())
  await call(stop.signal).catch((error: unknown) => {
    // Fail at once if the agent cannot be reached.
    if (!stop.signal.aborted && !(error instanceof FailedTask)) throw error
  })
  const duration = options.duration ?? (options.requests === undefined ? defaultSeconds : undefined)
  const tally = new Tally()
  const started = performance.now()
  const stopDrawing = showProgress(tally, started, options)
  await load(call, tally, {
    concurrency: options.concurrency,
    signal: stop.signal,
    ...(options.requests !== undefined && { requests: options.requests }),
    ...(duration !== undefined && { durationMs: duration * 1000 }),
  })
  stopDrawing()
  return tally.totals(performance.now() - started)
}

function showProgress(tally: Tally, started: number, { output, requests }: Options): () => void {
  const { stderr } = process
  if (output === 'json' || !stderr.isTTY) return () => undefined
  const draw = () => {
    const seconds = (performance.now() - started) / 1000
    const failed = tally.failed > 0 ? `, ${tally.failed} failed` : ''
    const share = requests === undefined ? `${tally.done}` : `${tally.done} of ${requests}`
    const text = `${share} in ${seconds.toFixed(1)} s, ${Math.round(tally.done / seconds)}/s${failed}`
    stderr.write(`\r${onStderr.dim(text)}\u001b[K`)
  }
  const timer = setInterval(draw, redrawMs)
  return () => {
    clearInterval(timer)
    stderr.write('\r\u001b[K')
  }
}

function totalsText({ card, choice }: AgentClient, { concurrency, stream }: Options, totals: Totals): string {
  const { succeeded, failed, seconds, requestsPerSecond, latencyMs, firstEventMs, events, errors } = totals
  const rows = [
    ['Agent', `${oneLine(card.name)}, ${choice.dialect} over ${choice.binding}, ${concurrency} at a time`],
    [stream ? 'Streams' : 'Requests', `${succeeded} answered, ${failed} failed, in ${seconds} s`],
    ['Rate', `${requestsPerSecond} ${stream ? 'streams' : 'requests'}/s`],
    ...(events === undefined ? [] : [['Events', `${events}, ${totals.eventsPerSecond ?? 0} events/s`]]),
    ...(latencyMs ? [['Time', percentilesText(latencyMs)]] : []),
    ...(firstEventMs ? [['First event', percentilesText(firstEventMs)]] : []),
    ...Object.entries(errors).map(([kind, count]) => ['Error', `${count} × ${oneLine(kind)}`]),
  ]
  return table(rows)
}

function percentilesText({ min, p50, p90, p99, max }: Percentiles): string {
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms (${min} – ${max})`
}

interface LoadOptions {
  readonly concurrency: number
  /** Absent: as many as fit into the time. */
  readonly requests?: number
  /** No call starts after this time. */
  readonly durationMs?: number
  /** Aborts the load; calls in progress are not counted. */
  readonly signal: AbortSignal
}

type Call = (signal: AbortSignal) => Promise<Sample>

/** Makes calls at a constant concurrency until one of the limits is reached. */
export async function load(call: Call, tally: Tally, options: LoadOptions): Promise<void> {
  const { concurrency, requests = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY, signal } = options
  const endsAt = performance.now() + durationMs
  let begun = 0
  const worker = async () => {
    while (begun < requests && performance.now() < endsAt && !signal.aborted) {
      begun += 1
      try {
        tally.success(await call(signal))
      } catch (error) {
        if (signal.aborted) return
        tally.failure(kindOf(error))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, worker))
}

/** A task that ended without success; other commands treat it as an answer. */
class FailedTask extends Error {}

function kindOf(error: unknown): string {
  if (error instanceof TransportError) return error.failure
  if (error instanceof A2AError) return error.code
  if (error instanceof FailedTask) return error.message
  throw error
}

const failures: ReadonlySet<string> = new Set(['TASK_STATE_FAILED', 'TASK_STATE_REJECTED', 'TASK_STATE_CANCELED'])

function unaryCall(agent: AgentClient, text: string): Call {
  return async (signal) => {
    const started = performance.now()
    const { state } = await agent.ask(text, { signal })
    const ms = performance.now() - started
    if (failures.has(state)) throw new FailedTask(state)
    return { ms }
  }
}

function streamCall(agent: AgentClient, text: string): Call {
  return async (signal) => {
    const started = performance.now()
    let firstMs: number | undefined
    let events = 0
    let state = ''
    for await (const update of agent.stream(text, { signal })) {
      firstMs ??= performance.now() - started
      events += 1
      if ('statusUpdate' in update) state = update.statusUpdate.status.state
      else if ('task' in update) state = update.task.status.state
    }
    const ms = performance.now() - started
    if (failures.has(state)) throw new FailedTask(state)
    return { ms, events, ...(firstMs !== undefined && { firstMs }) }
  }
}

/** The measurements of one call. */
export interface Sample {
  readonly ms: number
  /** Of streams: time to the first event, and number of events. */
  readonly firstMs?: number
  readonly events?: number
}

interface Percentiles {
  readonly min: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface Totals {
  readonly requests: number
  readonly succeeded: number
  readonly failed: number
  /** Number of failures by kind, the most frequent first. */
  readonly errors: Readonly<Record<string, number>>
  readonly seconds: number
  readonly requestsPerSecond: number
  /** Absent if no call succeeded. */
  readonly latencyMs?: Percentiles
  readonly firstEventMs?: Percentiles
  readonly events?: number
  readonly eventsPerSecond?: number
}

export class Tally {
  readonly #samples: Sample[] = []
  readonly #errors = new Map<string, number>()
  #failed = 0

  success(sample: Sample): void {
    this.#samples.push(sample)
  }

  failure(kind: string): void {
    this.#failed += 1
    this.#errors.set(kind, (this.#errors.get(kind) ?? 0) + 1)
  }

  get done(): number {
    return this.#samples.length + this.#failed
  }

  get failed(): number {
    return this.#failed
  }

  totals(elapsedMs: number): Totals {
    const seconds = elapsedMs / 1000
    const perSecond = (count: number) => (seconds > 0 ? round(count / seconds) : 0)
    const succeeded = this.#samples.length
    const latency = percentilesOf(this.#samples.map(({ ms }) => ms))
    const first = percentilesOf(this.#samples.flatMap(({ firstMs }) => (firstMs === undefined ? [] : [firstMs])))
    const events = this.#samples.reduce((sum, sample) => sum + (sample.events ?? 0), 0)
    return {
      requests: this.done,
      succeeded,
      failed: this.#failed,
      errors: Object.fromEntries([...this.#errors].sort(([, one], [, other]) => other - one)),
      seconds: round(seconds),
      requestsPerSecond: perSecond(succeeded),
      ...(latency && { latencyMs: latency }),
      ...(first && { firstEventMs: first, events, eventsPerSecond: perSecond(events) }),
    }
  }
}

/** Uses the nearest-rank method. */
export function percentilesOf(values: readonly number[]): Percentiles | undefined {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length
  return { min: at(0), mean: round(mean), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
