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
import { collect, toHeader, toPort } from '../agent-options.js'
import { addSourceOptions, openSource, type Source, type SourceOptions } from '../agent-source.js'
import { oneLine } from '../printable.js'
import { bannerLines, type LogFormat, logFormats, openServeLog, type ServeLog } from '../serve-log.js'
import {
  type AccessOptions,
  addAccessOptions,
  allowWebhookHelp,
  closeOnSignal,
  readAccess,
  withUsageErrors,
} from '../server-options.js'
import { readSigningKey } from '../signing-keys.js'

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

/** Time that running turns have to end after the first signal. A second signal ends the process at once. */
const drainMs = 10_000

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve an agent in every dialect: from a module, a program, or a remote agent')
    .argument(
      '[module]',
      'path of a module that exports an agent, as default or as `agent`; TypeScript modules need Node 22.18 or newer',
    )
  return addAccessOptions(addSourceOptions(command))
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort, 8001)
    .option(
      '--host <address>',
      'address to bind; an address other than loopback requires an authentication option or --no-auth',
      '127.0.0.1',
    )
    .option('--store <store>', 'memory, file:DIR, sqlite:PATH or postgres://USER@HOST/DATABASE', 'memory')
    .option('--public-url <url>', 'address that clients use, for the card (default: the address it listens at)')
    .option(
      '--base-path <path>',
      'path prefix of incoming requests (default: the path of --public-url, if requests include it)',
    )
    .option(
      '--signing-key <path>',
      'private key (JWK or PEM) that signs cards and deliveries; repeatable, the first key signs',
      collect,
    )
    .option('--no-grpc', 'serve no gRPC and leave it out of the card, for clients that reject such cards (Google ADK)')
    .option(
      '--dialects <list>',
      'all, or names separated by commas; NAME@/path serves a dialect at a path (default: v1,v0.3,v0.1)',
      toDialects,
    )
    .addOption(
      new Option('--card <form>', 'form of the card for clients that name no version (default: hybrid)').choices(
        cardForms,
      ),
    )
    .option('--protect-card', 'require credentials for the card too; needs an authentication option')
    .addOption(
      new Option('--errors <release>', 'release of protocol 1.0 that defines the error statuses')
        .choices(errorProfiles)
        .default('1.0.1'),
    )
    .addOption(
      new Option(
        '--invoke-questions <status>',
        'status of questions in the dialect invoke (default: input_required)',
      ).choices(questionStatuses),
    )
    .option('--allow-webhook <host>', allowWebhookHelp, collect)
    .option('--register <url>', 'registry in which the agent is published while it is served')
    .option('--register-namespace <name>', 'namespace in the registry (default: public)')
    .option('--register-header <name: value>', 'HTTP header for the registry; repeatable', toHeader)
    .option(
      '--metrics [port]',
      'serve /metrics to authenticated callers; PORT or HOST:PORT serves it on a separate port (default host: 127.0.0.1)',
      toMetrics,
    )
    .addOption(
      new Option(
        '--log <format>',
        'text on stderr, or JSON lines on stdout (default: text on a terminal, JSON otherwise)',
      ).choices(logFormats),
    )
    .option('-v, --verbose', 'log every call with its dialect (default: only warnings and errors)')
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

Authentication: a caller that satisfies any one of --api-key, --bearer, --oidc and --tls-client-ca is accepted. The card
declares them. Other users of this machine can read command lines; serve agents with real secrets from your own program.

Proxy (--proxy): the card has the name, skills and capabilities of the remote agent. The proxy has its own tasks and its
own callers: --api-key is the key of its callers, --upstream-header the credential that it sends to the remote agent. The
remote agent decides which media types it accepts. Callers of the proxy can read its extended card.

Program (--exec): each message starts the program, without a shell unless --shell is given, with DRAGOMAN_TASK_ID and
DRAGOMAN_CONTEXT_ID in its environment. Exit code 0 completes the task. Any other exit code fails it; the caller does not
see the reason, but the last line of stderr is logged. Cancelling sends SIGTERM, and SIGKILL four seconds later. Eight
programs run at once (--exec-max), and 1,000 further messages wait in a queue (--exec-queue). Beyond that, calls fail with
UNAVAILABLE. A cancelled task leaves the queue.

Errors: an unhandled rejection or exception of a handler fails its task and is logged; other agents continue. An unhandled
rejection outside of tasks is logged; an uncaught exception outside of tasks ends the process. A handler that blocks the event loop for more
than a second is logged with its task.

Stores: memory keeps tasks until the process ends. file:DIR has one file for each task and writes the whole file at each
change; only one process may use it. sqlite:PATH is for several processes on one machine, postgres for several machines.

Webhooks must use https and a public address, checked at each call. --allow-webhook allows other hosts; localhost means
this machine.

Dialects: v1, v0.3 (also 0.2) and v0.1 are served by default. --dialects all adds task-rest, invoke, chat-rpc and v0.1-go
(at /go); a list serves only the named ones. v0.1-go@/ replaces v0.1 at the address of the agent.

The echo agent understands these messages: msg X, chunks N [delayMs], sleep MS, ask, auth, fail, reject, crash, file,
data. It returns any other text as an artifact.`,
    )
    .action(run)
}

async function run(module: string | undefined, options: Options): Promise<void> {
  const { allowedHosts, ...access } = await readAccess(options)
  const serveLog = await openServeLog({ format: options.log, isVerbose: options.verbose === true })
  const { log } = serveLog
  const warn = (message: string) => log({ level: 'warn', message })
  const keys = await Promise.all((options.signingKey ?? []).map((path) => readSigningKey(path, warn)))
  const source = await openSource(module, options, log)
  const served = await withUsageErrors(() =>
    serve(source.agents, {
      port: options.port,
      host: options.host,
      store: options.store,
      ...access,
      ...(options.publicUrl && { publicUrl: options.publicUrl }),
      ...(options.basePath !== undefined && { basePath: options.basePath }),
      ...(options.dialects && { dialects: options.dialects }),
      ...(options.allowWebhook && { push: { allowHosts: options.allowWebhook } }),
      ...(options.register !== undefined && { register: registerIn(options.register, options) }),
      ...(options.metrics && { metrics: options.metrics }),
      log,
      advanced: {
        ...(allowedHosts && { allowedHosts }),
        ...(keys.length > 0 && { signing: { keys } }),
        ...(options.card && { card: options.card }),
        ...(options.protectCard && { protectCard: true }),
        ...(options.invokeQuestions && { invokeQuestions: options.invokeQuestions }),
        errors: options.errors,
        ...(!options.grpc && { grpc: false }),
        logCalls: options.verbose === true,
      },
    }),
  )
  printReady(serveLog, served, source, options)
  closeOnSignal(async () => {
    log({ level: 'info', message: 'Draining: new calls are rejected' })
    // The server first: its last turns may still call the upstream agent.
    await served.close({ deadlineMs: drainMs })
    await source.close?.()
    log({ level: 'info', message: 'Closed' })
  })
}

function printReady(serveLog: ServeLog, { agents, metricsUrl }: Served, { note }: Source, options: Options): void {
  const { dialects, apiKey } = options
  // `serve` leaves gRPC out on Bun.
  const hasGrpc = options.grpc && process.versions.bun === undefined
  const last = [
    ...(metricsUrl === undefined ? [] : [`  metrics    GET  ${metricsUrl}`]),
    ...(note === undefined ? [] : [`  ${note}`]),
  ]
  serveLog.ready(
    agents.map(({ name, url }, index) => ({
      agent: oneLine(name),
      url,
      lines: [
        ...bannerLines({ url, dialects, hasApiKey: apiKey !== undefined, hasGrpc }),
        ...(index === agents.length - 1 ? last : []),
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

/** Parses `9464` or `0.0.0.0:9464`. */
function toMetrics(given: string): MetricsPort {
  const [, host, port = given] = /^(.+):(\d+)$/.exec(given) ?? []
  return { port: toPort(port), ...(host !== undefined && { host: host.replace(/^\[|\]$/g, '') }) }
}

/** Accepts `1.0` and `0.3` for `v1` and `v0.3`. */
function toDialects(list: string): DialectChoice {
  if (list === 'all') return 'all'
  return list.split(',').map((each) => {
    const [given = '', path] = each.trim().split('@', 2)
    const dialect = findDialect(given)?.name
    if (!dialect) throw new InvalidArgumentError(`unknown dialect ${given}: choose from ${dialectNames.join(', ')}`)
    return path === undefined ? dialect : { dialect, path }
  })
}
