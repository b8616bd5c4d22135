/** The agents that `dragoman serve` serves: from a module, the echo agent, a program, or a remote agent. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Command, Option } from 'commander'
import type { Binding } from '../client/index.js'
import type { Log } from '../engine/index.js'
import { isAgent } from '../engine/index.js'
import type { Agent } from '../index.js'
import type { DialectName } from '../server/index.js'
import { echoAgent } from '../testing/echo-agent.js'
import {
  type AgentOptions,
  connectOptions,
  toBinding,
  toCount,
  toDialect,
  toHeader,
  toPositive,
} from './agent-options.js'
import { execAgent, splitCommand } from './exec-agent.js'
import { UsageError } from './failure.js'
import { Output } from './output.js'
import { proxyAgent } from './proxy-agent.js'

export interface SourceOptions {
  readonly echo?: true
  readonly exec?: string
  readonly proxy?: string
  readonly name?: string
  readonly shell?: true
  readonly execTimeout?: number
  readonly execMaxOutput?: number
  readonly execMax?: number
  readonly execQueue?: number
  readonly upstreamBinding?: Binding
  readonly upstreamProtocol?: DialectName
  readonly upstreamHeader?: Readonly<Record<string, string>>
}

export interface Source {
  readonly agents: Agent | readonly Agent[]
  /** An extra line of the ready message. */
  readonly note?: string
  close?(): Promise<void>
}

const defaultTimeoutSeconds = 600
const defaultOutputMegabytes = 10
const defaultMaxPrograms = 8
const defaultMaxQueue = 1_000
/** The same time limit as that of `dragoman send`. */
const upstreamTimeoutSeconds = 600

export function addSourceOptions(command: Command): Command {
  return command
    .option('--echo', 'serve the echo agent, for tests: it returns the text, or does what the text says')
    .option('--exec <command>', 'serve a program: the message is its stdin, and its stdout is the answer')
    .option('--proxy <agent>', 'serve a remote agent in all dialects: host, URL, card URL or name')
    .option(
      '--name <name>',
      'name on the card, for --exec and --proxy (default: the name of the program or of the remote agent)',
    )
    .option('--shell', 'run the command of --exec with sh, which allows pipes, variables and patterns')
    .option(
      '--exec-timeout <seconds>',
      `time limit of a program in seconds; 0: none (default: ${defaultTimeoutSeconds})`,
      toCount,
    )
    .option(
      '--exec-max-output <megabytes>',
      `maximum output of a program in megabytes (default: ${defaultOutputMegabytes})`,
      toPositive,
    )
    .option(
      '--exec-max <count>',
      `maximum number of programs that run at once (default: ${defaultMaxPrograms})`,
      toPositive,
    )
    .option(
      '--exec-queue <count>',
      `maximum number of messages that wait for a program (default: ${defaultMaxQueue})`,
      toCount,
    )
    .addOption(
      new Option(
        '--upstream-binding <name>',
        'transport to the agent of --proxy: jsonrpc, rest or grpc (default: the one that its card prefers)',
      ).argParser(toBinding),
    )
    .addOption(
      new Option(
        '--upstream-protocol <version>',
        'protocol version for the agent of --proxy: v1, v0.3, v0.1 … (default: the newest that works)',
      ).argParser(toDialect),
    )
    .option('--upstream-header <name: value>', 'HTTP header for calls to the agent of --proxy; repeatable', toHeader)
}

/** Options that need one of others. */
const neededOptions: readonly (readonly [keyof SourceOptions, readonly (keyof SourceOptions)[]])[] = [
  ['name', ['exec', 'proxy']],
  ['shell', ['exec']],
  ['execTimeout', ['exec']],
  ['execMaxOutput', ['exec']],
  ['execMax', ['exec']],
  ['execQueue', ['exec']],
  ['upstreamBinding', ['proxy']],
  ['upstreamProtocol', ['proxy']],
  ['upstreamHeader', ['proxy']],
]

export async function openSource(module: string | undefined, options: SourceOptions, log?: Log): Promise<Source> {
  const { echo, exec, proxy } = options
  const given = [module, echo, exec, proxy].filter((each) => each !== undefined)
  if (given.length > 1) throw new UsageError('a module, --echo, --exec and --proxy exclude each other')
  if (given.length === 0)
    throw new UsageError('give the path of a module that exports an agent, or --echo, --exec or --proxy')
  for (const [option, partners] of neededOptions) {
    if (options[option] !== undefined && partners.every((partner) => options[partner] === undefined))
      throw new UsageError(`${flagOf(option)} needs ${partners.map(flagOf).join(' or ')}`)
  }
  if (exec !== undefined) return { agents: programOf(exec, options, log) }
  if (proxy !== undefined) return await proxyTo(proxy, options)
  return { agents: module === undefined ? echoAgent : await agentsIn(module) }
}

async function agentsIn(module: string): Promise<Agent | readonly Agent[]> {
  const path = resolve(module)
  if (!existsSync(path)) throw new UsageError(`module not found: ${module}`)
  const { exports, calls } = await importWatched(pathToFileURL(path).href)
  const found = exports.default ?? exports.agent
  const agents = (Array.isArray(found) ? found : [found]).filter(isAgent)
  const names = agents.map(({ card }) => card.name)
  const own = calls.find((call) => names.length === 0 || call.names.some((name) => names.includes(name)))
  if (own) {
    const port = own.port ? `on port ${own.port}` : 'on another port'
    throw new UsageError(
      `${module} calls serve() itself, ${port}: run it with \`node ${module}\`, or export the agent without calling serve()`,
    )
  }
  if (isAgent(found) || (Array.isArray(found) && found.length > 0 && agents.length === found.length)) return found
  throw new UsageError(`${module} exports no agent; export an agent or a list of agents, as default or as \`agent\``)
}

interface Exports {
  readonly default?: unknown
  readonly agent?: unknown
}

interface ServeCall {
  readonly names: readonly string[]
  readonly port: number | undefined
}

/** Imports a module and records its calls of `serve`, from any copy of this package. */
async function importWatched(
  href: string,
): Promise<{ readonly exports: Exports; readonly calls: readonly ServeCall[] }> {
  const calls: ServeCall[] = []
  const onServe = (message: unknown) => {
    // Published by `serve`, with its arguments unchecked.
    const { agents, port } = message as { readonly agents: unknown; readonly port?: number }
    // An exception here would end the process. `serve` itself rejects invalid arguments.
    const served = [agents]
      .flat()
      .map((each) => (isAgent(each) ? each : (each as { readonly agent?: unknown } | undefined)?.agent))
    calls.push({ names: served.filter(isAgent).map(({ card }) => card.name), port })
  }
  subscribe('dragoman:serve', onServe)
  try {
    return { exports: (await import(href)) as Exports, calls }
  } catch (error) {
    throw explainTypeScript(error)
  } finally {
    unsubscribe('dragoman:serve', onServe)
  }
}

/** Node 22.18 and newer run TypeScript modules; older versions do so only with a loader. */
function explainTypeScript(error: unknown): unknown {
  if (!(error instanceof TypeError && 'code' in error && error.code === 'ERR_UNKNOWN_FILE_EXTENSION')) return error
  const [, path] = /^Unknown file extension "\.[cm]?ts" for (.*)$/.exec(error.message) ?? []
  if (path === undefined) return error
  return new UsageError(
    `Node ${process.versions.node} cannot import TypeScript: ${path}; use Node 22.18 or newer, or compile the module and serve the .js file`,
  )
}

function programOf(command: string, options: SourceOptions, log: Log | undefined): Agent {
  const { name, shell, execTimeout = defaultTimeoutSeconds, execMaxOutput = defaultOutputMegabytes } = options
  const { execMax = defaultMaxPrograms, execQueue = defaultMaxQueue } = options
  if (!shell) assertProgram(command)
  return execAgent(command, {
    ...(name !== undefined && { name }),
    ...(shell && { shell }),
    timeoutMs: execTimeout * 1000,
    maxBytes: execMaxOutput * 1_000_000,
    slots: { running: execMax, waiting: execQueue },
    ...(log && { log }),
  })
}

/** Fails at the start instead of with the first message. */
function assertProgram(command: string): void {
  let program: string | undefined
  try {
    program = splitCommand(command)[0]
  } catch (error) {
    throw new UsageError(`--exec: ${error instanceof Error ? error.message : command}`)
  }
  if (program === undefined) throw new UsageError('--exec: missing program')
  const paths = /[/\\]/.test(program)
    ? [resolve(program)]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program))
  if (process.platform !== 'win32' && !paths.some(isExecutable))
    throw new UsageError(`--exec: program not found: ${program}`)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

async function proxyTo(ref: string, options: SourceOptions): Promise<Source> {
  const { name, upstreamBinding, upstreamProtocol, upstreamHeader } = options
  const upstreamOptions: AgentOptions = {
    output: 'text',
    timeout: upstreamTimeoutSeconds,
    ...(upstreamBinding && { binding: upstreamBinding }),
    ...(upstreamProtocol && { protocol: upstreamProtocol }),
    ...(upstreamHeader && { header: upstreamHeader }),
  }
  const output = new Output('text')
  const connect = await connectOptions(ref, upstreamOptions, output)
  const { agent, upstream, close } = await proxyAgent(ref, {
    ...(name !== undefined && { name }),
    connect,
    onWarning: (message) => output.warning(message),
  })
  return { agents: agent, note: `upstream   ${upstream}`, close }
}

function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
