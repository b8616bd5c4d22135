import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { type Agent, apiKey, isAgent, type Served, serve } from '../../index.js'
import { echoAgent } from '../echo-agent.js'
import { UsageError } from '../usage-error.js'

interface Options {
  readonly echo?: true
  readonly port: number
  readonly host: string
  readonly store: string
  readonly apiKey?: string
  readonly publicUrl?: string
  readonly auth: boolean
  readonly dialects?: string
  readonly card?: string
  readonly errors?: string
  readonly allowWebhook?: string
  readonly verbose?: true
}

/** Time for running turns to end after the first signal; a second signal does not wait. */
const drainMs = 10_000

export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve an agent: a module that exports one (default export or `agent`), or the test-bed agent')
    .argument('[module]', 'path of a JavaScript module')
    .option('--echo', 'serve the test-bed agent, which acts on the text it is sent')
    .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, 8001)
    .option('--host <address>', 'address to bind; anything but loopback needs --api-key or --no-auth', '127.0.0.1')
    .option('--store <store>', 'memory, or sqlite:PATH', 'memory')
    .option('--api-key <key>', 'callers must send this key in X-API-Key')
    .option('--no-auth', 'let anybody call, also from other machines')
    .option('--public-url <url>', 'the address clients use, for the card')
    .option('--dialects <list>', 'which versions of the protocol to speak')
    .option('--card <form>', 'which card readers without a version get: v1, hybrid or 0.3')
    .option('--errors <profile>', 'error statuses of 1.0.1 or 1.0.0')
    .option('--allow-webhook <host>', 'a host that webhooks may be sent to')
    .option('-v, --verbose', 'log what goes wrong to stderr')
    .addHelpText(
      'after',
      `
Examples:
  dragoman serve --echo --port 4310
  dragoman serve --echo --store sqlite:tasks.sqlite --api-key secret
  dragoman serve ./my-agent.js --port 8001

The test-bed agent understands: msg X, chunks N [delayMs], sleep MS, ask, auth, fail, reject, crash,
file, data. Anything else comes back as the text of an artifact.`,
    )
    .action(run)
}

async function run(module: string | undefined, options: Options): Promise<void> {
  refuseUnbuilt(options)
  const agents = await agentsFrom(module, options)
  const auth = options.apiKey !== undefined ? [apiKey(options.apiKey)] : options.auth ? undefined : ('none' as const)
  const served = await serveOrExplain(agents, {
    port: options.port,
    host: options.host,
    store: options.store,
    ...(auth && { auth }),
    ...(options.publicUrl && { publicUrl: options.publicUrl }),
    ...(options.verbose && {
      log: ({ level, message, taskId, error }) => console.error(pc.dim(level), message, taskId ?? '', error ?? ''),
    }),
  })
  printReady(served)
  closeOnSignal(served)
}

async function agentsFrom(module: string | undefined, { echo }: Options): Promise<Agent | readonly Agent[]> {
  if (echo && module !== undefined) throw new UsageError('give a module or --echo, not both')
  if (echo) return echoAgent
  if (module === undefined) throw new UsageError('give the path of a module that exports an agent, or --echo')
  const path = resolve(module)
  if (!existsSync(path)) throw new UsageError(`there is no module ${module}`)
  const exports = (await import(pathToFileURL(path).href)) as { readonly default?: unknown; readonly agent?: unknown }
  const found = exports.default ?? exports.agent
  if (isAgent(found) || (Array.isArray(found) && found.length > 0 && found.every(isAgent))) return found
  throw new UsageError(`${module} exports no agent: export one, or a list, as default or as \`agent\``)
}

/** A configuration that cannot be meant is a mistake of whoever typed it. */
async function serveOrExplain(...args: Parameters<typeof serve>): Promise<Served> {
  try {
    return await serve(...args)
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error
  }
}

/** Options whose work is not done yet are refused rather than ignored. */
function refuseUnbuilt({ dialects, card, errors, allowWebhook, store }: Options): void {
  if (dialects !== undefined && dialects !== '1.0')
    throw new UsageError(`--dialects ${dialects}: only 1.0 is spoken so far`)
  if (card !== undefined && card !== 'v1') throw new UsageError(`--card ${card}: only v1 cards are served so far`)
  if (errors !== undefined && errors !== '1.0.1')
    throw new UsageError(`--errors ${errors}: only the statuses of 1.0.1 are sent so far`)
  if (allowWebhook !== undefined) throw new UsageError('--allow-webhook: webhooks are stored but not delivered yet')
  if (store.startsWith('postgres:'))
    throw new UsageError('--store postgres: only memory and sqlite:PATH are there so far')
}

function printReady({ agents }: Served): void {
  for (const { name, url } of agents) {
    console.log(`${pc.bold(name)} is ready at ${pc.cyan(url)}`)
    console.log(pc.dim(`  JSON-RPC   POST ${url}`))
    console.log(pc.dim(`  HTTP+JSON  POST ${url}message:send`))
    console.log(pc.dim(`  card       GET  ${url}.well-known/agent-card.json`))
  }
}

function closeOnSignal(served: Served): void {
  let signals = 0
  const onSignal = () => {
    signals += 1
    if (signals > 1) process.exit(1)
    served.close({ deadlineMs: drainMs }).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('dragoman: could not close cleanly:', error)
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

function toPort(value: string): number {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw new InvalidArgumentError('a port is a number from 0 to 65535')
}
