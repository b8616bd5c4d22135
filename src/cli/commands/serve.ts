import { Command, InvalidArgumentError, Option } from 'commander'
import { dialectNames, findDialect } from '../../dialects/index.js'
import { type Served, serve } from '../../index.js'
import {
  type CardForm,
  cardForms,
  type DialectChoice,
  type ErrorProfile,
  errorProfiles,
  type MetricsPort,
  type QuestionStatus,
  questionStatuses,
  type RegisterOptions,
} from '../../server/index.js'
import { type AccessOptions, addAccessOptions, readAccess } from '../access-options.js'
import { toHeader, toPort } from '../agent-options.js'
import { addSourceOptions, openSource, type Source, type SourceOptions } from '../agent-source.js'
import { closeOnSignal } from '../close-on-signal.js'
import { oneLine } from '../printable.js'
import { bannerLines } from '../serve-banner.js'
import { type LogFormat, logFormats, openServeLog, type ServeLog } from '../serve-log.js'
import { readSigningKey } from '../signing-keys.js'
import { UsageError } from '../usage-error.js'

interface Options extends SourceOptions, AccessOptions {
  readonly port: number
  readonly host: string
  readonly store: string
  readonly publicUrl?: string
  readonly basePath?: string
  readonly signingKey?: readonly string[]
  readonly dialects?: DialectChoice
  readonly card?: CardForm
  readonly protectCard?: true
  readonly errors: ErrorProfile
  readonly invokeQuestions?: QuestionStatus
  readonly grpc: boolean
  readonly allowWebhook?: readonly string[]
  readonly register?: string
  readonly registerNamespace?: string
  readonly registerHeader?: Readonly<Record<string, string>>
  readonly metrics?: true | MetricsPort
  readonly log?: LogFormat
  readonly verbose?: true
}

/** Time for running turns to end after the first signal; a second signal does not wait. */
const drainMs = 10_000

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve an agent in every dialect: a module’s, any program, or one that is somewhere else')
    .argument(
      '[module]',
      'path of a module that exports an agent, as default or as `agent`; TypeScript modules need Node 22.18 or newer',
    )
  return addAccessOptions(addSourceOptions(command))
    .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, 8001)
    .option(
      '--host <address>',
      'address to bind; anything but loopback needs a way to know callers, or --no-auth',
      '127.0.0.1',
    )
    .option('--store <store>', 'memory, file:DIR, sqlite:PATH, or postgres://USER@HOST/DATABASE', 'memory')
    .option('--public-url <url>', 'the address clients use, for the card')
    .option(
      '--base-path <path>',
      'the path below which requests arrive (default: that of --public-url, if they have it)',
    )
    .option(
      '--signing-key <path>',
      'a private key (JWK or PEM) that signs cards and deliveries; of several, the first one signs',
      (path: string, before: readonly string[] = []) => [...before, path],
    )
    .option('--no-grpc', 'answer no gRPC and leave it out of the card, for clients that refuse such cards (Google ADK)')
    .option('--dialects <list>', 'all, or names with commas; NAME@/path pins one to a path', toDialects)
    .addOption(
      new Option('--card <form>', 'the card for readers that name no version (default: hybrid)').choices(cardForms),
    )
    .option('--protect-card', 'ask for credentials before the card is shown, too; needs a way to know callers')
    .addOption(
      new Option('--errors <release>', 'whose error statuses v1.0 sends').choices(errorProfiles).default('1.0.1'),
    )
    .addOption(
      new Option('--invoke-questions <status>', 'the status of questions in invoke (default: input_required)').choices(
        questionStatuses,
      ),
    )
    .option(
      '--allow-webhook <host>',
      'a host that webhooks may be at although it is inside, or speaks http; may be repeated',
      (host: string, before: readonly string[] = []) => [...before, host],
    )
    .option('--register <url>', 'a registry to be found in, while this is served')
    .option('--register-namespace <name>', 'where in the registry (default: public)')
    .option('--register-header <name: value>', 'a header for the registry; may be repeated', toHeader)
    .option(
      '--metrics [port]',
      'show /metrics to callers; or to this machine, on a PORT or HOST:PORT of its own',
      toMetrics,
    )
    .addOption(
      new Option(
        '--log <format>',
        'text on stderr, or lines of JSON on stdout (default: JSON unless on a terminal)',
      ).choices(logFormats),
    )
    .option('-v, --verbose', 'log every call, with its dialect; without it, only what operators need')
    .addHelpText(
      'after',
      `
Examples:
  dragoman serve --echo --port 4310
  dragoman serve --echo --store sqlite:tasks.sqlite --api-key secret
  dragoman serve --echo --store postgres://postgres@localhost/tasks
  dragoman serve --echo --dialects all
  dragoman serve --echo --metrics 9464 --log json
  dragoman serve --echo --allow-webhook localhost
  dragoman serve ./my-agent.js --host 0.0.0.0 --oidc https://id.example --audience https://agent.example
  dragoman serve ./my-agent.js --host 0.0.0.0 --tls-cert agent.pem --tls-key agent.key --tls-client-ca clients.pem
  dragoman serve --echo --register http://localhost:8848
  dragoman serve ./my-agent.js --port 8001 --dialects v1,v0.3,task-rest@/old
  dragoman serve --exec 'python3 answer.py --brief' --name Answers
  dragoman serve --exec 'tr a-z A-Z | tee -a said.txt' --shell
  dragoman serve --proxy old-agent.example --upstream-header 'X-API-Key: secret' --api-key another

Callers: any one of --api-key, --bearer, --oidc and --tls-client-ca lets a caller in, and the card says which are
asked for. What is on a command line can be read by others on the same machine; an agent that has more than a test's
secrets is better served from a program of its own.

A bridge (--proxy) has the name, skills and abilities of the agent behind it, its own tasks, and its own callers:
--api-key is what they show to the bridge, --upstream-header what the bridge shows to the agent.
The agent behind the bridge decides which media types it accepts. Callers of the bridge can read its extended card.

A program (--exec) is started for every message, without a shell unless --shell is given, with DRAGOMAN_TASK_ID and
DRAGOMAN_CONTEXT_ID in its environment. Exit code 0 completes the task, any other fails it, without saying why to
the caller: the last line of its stderr is logged. Cancelling sends SIGTERM, and SIGKILL four seconds later.
Eight programs run at once (--exec-max); 1,000 further messages wait in a queue (--exec-queue), and the rest are refused
with UNAVAILABLE. A cancelled task leaves the queue.

A rejection or an exception that an agent's handler leaves behind fails its task and is logged; other agents go on. A
rejection that belongs to no task is logged; an exception that belongs to no task ends the process. A handler that blocks
the event loop for longer than a second is logged with its task.

Stores: memory forgets its tasks when the process ends. file:DIR keeps each task in a file of a folder, for one process
at a time; it writes the whole task with each change. sqlite:PATH is for several processes of one machine, postgres for
several machines.

Webhooks are called by https and on the internet, whatever a name resolves to when they are called. --allow-webhook
vouches for a host: localhost stands for this machine.

Dialects: v1, v0.3 (0.2 too) and v0.1 are on; task-rest, invoke, chat-rpc and v0.1-go (at /go) come with
all, or when they are named. v0.1-go@/ takes the place of v0.1 at the agent's own address.

The test-bed agent understands: msg X, chunks N [delayMs], sleep MS, ask, auth, fail, reject, crash,
file, data. Anything else comes back as the text of an artifact.`,
    )
    .action(run)
}

async function run(module: string | undefined, options: Options): Promise<void> {
  const access = await readAccess(options)
  const said = await openServeLog({ format: options.log, isVerbose: options.verbose === true })
  const { log } = said
  const warn = (message: string) => log({ level: 'warn', message })
  const keys = await Promise.all((options.signingKey ?? []).map((path) => readSigningKey(path, warn)))
  const source = await openSource(module, options, log)
  const served = await serveOrExplain(source.agents, {
    port: options.port,
    host: options.host,
    store: options.store,
    ...access,
    ...(options.publicUrl && { publicUrl: options.publicUrl }),
    ...(options.basePath !== undefined && { basePath: options.basePath }),
    errors: options.errors,
    ...(options.invokeQuestions && { invokeQuestions: options.invokeQuestions }),
    grpc: options.grpc,
    ...(keys.length > 0 && { signing: { keys } }),
    ...(options.dialects && { dialects: options.dialects }),
    ...(options.card && { card: options.card }),
    ...(options.protectCard && { protectCard: true }),
    ...(options.allowWebhook && { push: { allowHosts: options.allowWebhook } }),
    ...(options.register !== undefined && { register: registerIn(options.register, options) }),
    ...(options.metrics && { metrics: options.metrics }),
    log,
    logCalls: options.verbose === true,
  })
  tellReady(said, served, source, options)
  closeOnSignal(async () => {
    log({ level: 'info', message: 'Draining: no more calls are taken' })
    await closeBoth(served, source)
    log({ level: 'info', message: 'Closed' })
  })
}

/** A configuration that cannot be meant is a mistake of whoever typed it. */
async function serveOrExplain(...args: Parameters<typeof serve>): Promise<Served> {
  try {
    return await serve(...args)
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(inOptions(error.message))
    throw error
  }
}

/** The library speaks of its own options. */
function inOptions(message: string): string {
  const options = '--api-key, --bearer, --oidc or --tls-client-ca'
  return message
    .replace(/give `auth`, or say `auth: 'none'`/, `give ${options}, or say --no-auth`)
    .replace(/^`protectCard` needs `auth`.*/, `--protect-card needs ${options}`)
}

function tellReady(said: ServeLog, { agents, metricsUrl }: Served, { note }: Source, options: Options): void {
  const { dialects, apiKey, grpc } = options
  const last = [
    ...(metricsUrl === undefined ? [] : [`  metrics    GET  ${metricsUrl}`]),
    ...(note === undefined ? [] : [`  ${note}`]),
  ]
  said.ready(
    agents.map(({ name, url }, place) => ({
      agent: oneLine(name),
      url,
      more: [
        ...bannerLines({ url, dialects, hasApiKey: apiKey !== undefined, hasGrpc: grpc }),
        ...(place === agents.length - 1 ? last : []),
      ],
    })),
  )
}

function registerIn(url: string, { registerNamespace, registerHeader }: Options): RegisterOptions {
  return {
    url,
    ...(registerNamespace !== undefined && { namespace: registerNamespace }),
    ...(registerHeader && { headers: registerHeader }),
  }
}

/** The server first: turns that end meanwhile still need what is behind them. */
async function closeBoth(served: Served, source: Source): Promise<void> {
  await served.close({ deadlineMs: drainMs })
  await source.close?.()
}

/** `9464`, or `0.0.0.0:9464` for those who know what they do; nothing is the agents' port. */
function toMetrics(given: string): MetricsPort {
  const [, host, port = given] = /^(.+):(\d+)$/.exec(given) ?? []
  return { port: toPort(port), ...(host !== undefined && { host: host.replace(/^\[|\]$/g, '') }) }
}

/** Versions may be written as people say them: `1.0`, `0.3`. */
function toDialects(list: string): DialectChoice {
  if (list === 'all') return 'all'
  return list.split(',').map((each) => {
    const [given = '', path] = each.trim().split('@', 2)
    const dialect = findDialect(given)?.name
    if (!dialect) throw new InvalidArgumentError(`there is no dialect ${given}: choose from ${dialectNames.join(', ')}`)
    return path === undefined ? dialect : { dialect, path }
  })
}
