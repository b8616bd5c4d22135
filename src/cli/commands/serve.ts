import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import pc from 'picocolors'
import type { LogEntry } from '../../engine/index.js'
import { type Agent, apiKey, isAgent, type Served, serve } from '../../index.js'
import {
  type CardForm,
  cardForms,
  type DialectChoice,
  dialectNames,
  type ErrorProfile,
  errorProfiles,
} from '../../server/index.js'
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
  readonly dialects?: DialectChoice
  readonly card?: CardForm
  readonly errors: ErrorProfile
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
    .option('--dialects <list>', 'all, or names with commas; NAME@/path pins one to a path', toDialects)
    .addOption(
      new Option('--card <form>', 'the card for readers that name no version (default: hybrid)').choices(cardForms),
    )
    .addOption(
      new Option('--errors <release>', 'whose error statuses v1.0 sends').choices(errorProfiles).default('1.0.1'),
    )
    .option('--allow-webhook <host>', 'a host that webhooks may be sent to')
    .option('-v, --verbose', 'log what goes wrong to stderr')
    .addHelpText(
      'after',
      `
Examples:
  dragoman serve --echo --port 4310
  dragoman serve --echo --store sqlite:tasks.sqlite --api-key secret
  dragoman serve --echo --dialects all
  dragoman serve ./my-agent.js --port 8001 --dialects v1,v0.3,task-rest@/old

Dialects: v1, v0.3 (0.2 too) and v0.1 are on; task-rest, invoke, chat-rpc and v0.1-go (at /go) come with
all, or when they are named.

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
    errors: options.errors,
    ...(options.dialects && { dialects: options.dialects }),
    ...(options.card && { card: options.card }),
    ...(options.verbose && { log: printLog }),
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
function refuseUnbuilt({ allowWebhook, store }: Options): void {
  if (allowWebhook !== undefined) throw new UsageError('--allow-webhook: webhooks are stored but not delivered yet')
  if (store.startsWith('postgres:'))
    throw new UsageError('--store postgres: only memory and sqlite:PATH are there so far')
}

function printReady({ agents }: Served): void {
  for (const { name, url } of agents) {
    console.log(`${pc.bold(name)} is ready at ${pc.cyan(url)}`)
    console.log(pc.dim(`  JSON-RPC   POST ${url}`))
    console.log(pc.dim(`  HTTP+JSON  POST ${url}message:send`))
    console.log(pc.dim(`  gRPC       ${new URL(url).host}`))
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

function printLog({ level, message, dialect, taskId, error }: LogEntry): void {
  const facts = [dialect && `dialect ${dialect}`, taskId && `task ${taskId}`].filter(Boolean)
  console.error(pc.dim(level), message, ...facts, ...(error === undefined ? [] : [error]))
}

/** Versions may be written as people say them: `1.0`, `0.3`. */
function toDialects(list: string): DialectChoice {
  if (list === 'all') return 'all'
  return list.split(',').map((each) => {
    const [given = '', path] = each.trim().split('@', 2)
    const wanted = given === '1.0' ? 'v1' : /^0\.\d/.test(given) ? `v${given}` : given
    const dialect = dialectNames.find((name) => name === wanted)
    if (!dialect) throw new InvalidArgumentError(`there is no dialect ${given}: choose from ${dialectNames.join(', ')}`)
    return path === undefined ? dialect : { dialect, path }
  })
}

function toPort(value: string): number {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw new InvalidArgumentError('a port is a number from 0 to 65535')
}
