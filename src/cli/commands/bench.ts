import { Command } from 'commander'
import { type AgentClient, connect } from '../../client/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  connectOptions,
  refHelp,
  splitReference,
  toPositive,
} from '../agent-options.js'
import { FailedTask, load, streamCall, unaryCall } from '../bench/load.js'
import { type Spread, Tally, type Totals } from '../bench/tally.js'
import { onStderr } from '../colours.js'
import { exitCodes } from '../failure.js'
import { Output } from '../output.js'
import { oneLine, table } from '../printable.js'

interface Options extends AgentOptions {
  readonly requests?: number
  readonly duration?: number
  readonly concurrency: number
  readonly stream?: true
  readonly text: string
}

const usualSeconds = 10
const redrawMs = 200

export function benchCommand(): Command {
  return addAgentOptions(
    new Command('bench')
      .description('Send an agent many messages and measure how it answers')
      .argument('[ref]', refHelp)
      .option('-n, --requests <count>', 'how many messages', toPositive)
      .option(
        '-d, --duration <seconds>',
        `for how long (default: ${usualSeconds}, unless --requests is given)`,
        toPositive,
      )
      .option('-c, --concurrency <count>', 'how many at the same time', toPositive, 10)
      .option('--stream', 'stream the answers, and measure the first event too')
      .option('--text <text>', 'what to send', 'ping'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman bench localhost:8001
  dragoman bench localhost:8001 -n 5000 -c 50 --binding grpc
  dragoman bench localhost:8001 --stream --text "chunks 100" -d 30 -o json

Every message is worked on: bench your own agents. One is sent first and not counted. Times are those of whole calls,
until the answer or the end of its stream; nothing is tried twice. Tasks that fail are counted as errors.
Ctrl-C stops and prints what was measured. This client takes part in what is measured: it runs on one core.`,
    )
    .action(async (ref: string | undefined, options: Options) => {
      const [name] = splitReference(ref === undefined ? [] : [ref], options)
      const output = new Output(options.output)
      const usual = await connectOptions(name, options, output)
      const agent = await connect(name, {
        ...usual,
        retry: { attempts: 1 },
        breaker: { failures: 0 },
      })
      try {
        const totals = await measure(agent, options)
        const { dialect, binding, url } = agent.choice
        output.result({ ref: name, dialect, binding, url, concurrency: options.concurrency, ...totals }, () =>
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
  // The second one finds nobody who listens, and ends the process.
  process.once('SIGINT', () => stop.abort())
  await call(stop.signal).catch((error: unknown) => {
    // Whoever cannot be reached at all need not be asked a thousand times.
    if (!stop.signal.aborted && !(error instanceof FailedTask)) throw error
  })
  const duration = options.duration ?? (options.requests === undefined ? usualSeconds : undefined)
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
    const words = `${share} in ${seconds.toFixed(1)} s, ${Math.round(tally.done / seconds)}/s${failed}`
    stderr.write(`\r${onStderr.dim(words)}\u001b[K`)
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
    ...(latencyMs ? [['Time', spreadText(latencyMs)]] : []),
    ...(firstEventMs ? [['First event', spreadText(firstEventMs)]] : []),
    ...Object.entries(errors).map(([kind, count]) => ['Error', `${count} × ${oneLine(kind)}`]),
  ]
  return table(rows)
}

function spreadText({ min, p50, p90, p99, max }: Spread): string {
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms (${min} – ${max})`
}
