/** What `dragoman serve` serves: a module's agent, the test-bed agent, a program, or an agent somewhere else. */
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
import { execAgent } from './exec-agent.js'
import { Output } from './output.js'
import { proxyAgent } from './proxy-agent.js'
import { splitCommand } from './split-command.js'
import { UsageError } from './usage-error.js'

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
  /** For whoever starts the server. */
  readonly note?: string
  close?(): Promise<void>
}

const usualTimeoutSeconds = 600
const usualOutputMegabytes = 10
const defaultMaxPrograms = 8
const defaultMaxQueue = 1_000
/** The agent behind a bridge may think for as long as `dragoman send` would wait for it. */
const upstreamPatienceSeconds = 600

export function addSourceOptions(command: Command): Command {
  return command
    .option('--echo', 'serve the test-bed agent, which acts on the text it is sent')
    .option('--exec <command>', 'serve a program: a message is its stdin, its stdout is the answer, as it comes')
    .option('--proxy <ref>', 'serve an agent that is somewhere else: a bridge from its dialect to all others')
    .option('--name <name>', 'the name on the card, for --exec and --proxy')
    .option('--shell', 'let sh read the command of --exec: pipes, variables, patterns')
    .option(
      '--exec-timeout <seconds>',
      `how long a program may take, 0 for ever (default: ${usualTimeoutSeconds})`,
      toCount,
    )
    .option(
      '--exec-max-output <megabytes>',
      `how much a program may print (default: ${usualOutputMegabytes})`,
      toPositive,
    )
    .option('--exec-max <count>', `how many programs run at once (default: ${defaultMaxPrograms})`, toPositive)
    .option(
      '--exec-queue <count>',
      `how many messages wait for a program to end (default: ${defaultMaxQueue})`,
      toCount,
    )
    .addOption(
      new Option('--upstream-binding <name>', 'how the agent behind a bridge is spoken to: jsonrpc, rest or grpc')
        // A parser, since choices would leave the word as it was typed.
        .argParser(toBinding),
    )
    .addOption(
      new Option('--upstream-protocol <version>', 'which version it is spoken to in: v1, v0.3, v0.1 …').argParser(
        toDialect,
      ),
    )
    .option('--upstream-header <name: value>', 'a header for every call to it; may be repeated', toHeader)
}

/** Options that mean nothing without another one. */
const belongTo: readonly (readonly [keyof SourceOptions, readonly (keyof SourceOptions)[]])[] = [
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
  if (given.length > 1) throw new UsageError('give a module, --echo, --exec or --proxy: one of them')
  if (given.length === 0)
    throw new UsageError('give the path of a module that exports an agent, or --echo, --exec or --proxy')
  for (const [option, partners] of belongTo) {
    if (options[option] !== undefined && partners.every((partner) => options[partner] === undefined))
      throw new UsageError(`${spell(option)} belongs to ${partners.map(spell).join(' and ')}`)
  }
  if (exec !== undefined) return { agents: programOf(exec, options, log) }
  if (proxy !== undefined) return await bridgeTo(proxy, options)
  return { agents: module === undefined ? echoAgent : await agentsIn(module) }
}

async function agentsIn(module: string): Promise<Agent | readonly Agent[]> {
  const path = resolve(module)
  if (!existsSync(path)) throw new UsageError(`there is no module ${module}`)
  const { exports, calls } = await importWatched(pathToFileURL(path).href)
  const found = exports.default ?? exports.agent
  const agents = (Array.isArray(found) ? found : [found]).filter(isAgent)
  const names = agents.map(({ card }) => card.name)
  const own = calls.find((call) => names.length === 0 || call.names.some((name) => names.includes(name)))
  if (own) {
    const port = own.port ? `on port ${own.port}` : 'on a port of its own'
    throw new UsageError(
      `${module} calls serve() itself, ${port}: run it with \`node ${module}\`, or export the agent without calling serve()`,
    )
  }
  if (isAgent(found) || (Array.isArray(found) && found.length > 0 && agents.length === found.length)) return found
  throw new UsageError(`${module} exports no agent: export one, or a list, as default or as \`agent\``)
}

interface Exports {
  readonly default?: unknown
  readonly agent?: unknown
}

interface ServeCall {
  readonly names: readonly string[]
  readonly port: number | undefined
}

/** Imports a module and collects the calls of `serve` that it makes meanwhile, with whichever copy of this package. */
async function importWatched(
  href: string,
): Promise<{ readonly exports: Exports; readonly calls: readonly ServeCall[] }> {
  const calls: ServeCall[] = []
  const onServe = (message: unknown) => {
    // The message of `serve`, with its arguments as they were given.
    const { agents, port } = message as { readonly agents: unknown; readonly port?: number }
    // An exception here would end the process. `serve` itself rejects arguments that are no agents.
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
  const { name, shell, execTimeout = usualTimeoutSeconds, execMaxOutput = usualOutputMegabytes } = options
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

/** Better now than with the first message. */
function assertProgram(command: string): void {
  let program: string | undefined
  try {
    program = splitCommand(command)[0]
  } catch (error) {
    throw new UsageError(`--exec: ${error instanceof Error ? error.message : command}`)
  }
  if (program === undefined) throw new UsageError('--exec: name a program')
  const places = /[/\\]/.test(program)
    ? [resolve(program)]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program))
  if (process.platform !== 'win32' && !places.some(isExecutable))
    throw new UsageError(`--exec: there is no program ${program}`)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

async function bridgeTo(ref: string, options: SourceOptions): Promise<Source> {
  const { name, upstreamBinding, upstreamProtocol, upstreamHeader } = options
  const spokenTo: AgentOptions = {
    output: 'text',
    timeout: upstreamPatienceSeconds,
    ...(upstreamBinding && { binding: upstreamBinding }),
    ...(upstreamProtocol && { protocol: upstreamProtocol }),
    ...(upstreamHeader && { header: upstreamHeader }),
  }
  const output = new Output('text')
  const connect = await connectOptions(ref, spokenTo, output)
  const onWarning = (message: string) => output.warning(message)
  const { agent, spoken, close } = await proxyAgent(ref, { ...(name !== undefined && { name }), connect, onWarning })
  return { agents: agent, note: `behind it  ${spoken}`, close }
}

function spell(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
