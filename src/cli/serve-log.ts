/** The log and the ready message of `dragoman serve`: text, or JSON lines on stdout. */
import pc from 'picocolors'
import { chosenDialects, type Dialect } from '../dialects/index.js'
import type { LogEntry } from '../engine/index.js'
import { errorFacts, withoutSecrets } from '../model/error-facts.js'
import { loadPackage } from '../model/load-package.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { DialectChoice } from '../server/index.js'
import { onStderr, printable } from './printable.js'

export const logFormats = ['text', 'json'] as const
export type LogFormat = (typeof logFormats)[number]

export interface ServeLog {
  log(entry: LogEntry): void
  ready(agents: readonly ReadyAgent[]): void
}

/** An agent that accepts calls. */
interface ReadyAgent {
  readonly agent: string
  readonly url: string
  /** Further lines of the text format. */
  readonly lines: readonly string[]
}

interface ServeLogOptions {
  /** Default: text on a terminal, JSON otherwise. */
  readonly format?: LogFormat | undefined
  /** Includes the levels `info` and `debug`. */
  readonly isVerbose: boolean
}

export async function openServeLog({ format, isVerbose }: ServeLogOptions): Promise<ServeLog> {
  const chosen = format ?? (process.stdout.isTTY ? 'text' : 'json')
  return chosen === 'json' ? await jsonLog(isVerbose) : textLog(isVerbose)
}

function textLog(isVerbose: boolean): ServeLog {
  return {
    log({ level, message, agent, dialect, taskId, error }) {
      if (!isVerbose && level !== 'error' && level !== 'warn') return
      const facts = [dialect && `dialect ${dialect}`, taskId && `task ${taskId}`].filter(Boolean)
      const text = [message, ...facts, ...(isVerbose && agent !== undefined ? [`(${agent})`] : [])].join(' ')
      const label = level === 'warn' ? onStderr.yellow('warning:') : onStderr.dim(`${level}:`)
      console.error(`${label} ${printable(withoutSecrets(text + detailsOf({ level, message, error }, isVerbose)))}`)
    },
    ready(agents) {
      const lines = agents.flatMap(({ agent, url, lines: more }) => [
        `${pc.bold(agent)} is ready at ${pc.cyan(url)}`,
        ...more.map((line) => pc.dim(line)),
      ])
      // One write: scripts that wait for the first line may read the others too.
      console.log(lines.join('\n'))
    },
  }
}

/** Errors are printed with their stack; warnings with their message only, because their cause is elsewhere. */
function detailsOf({ level, message, error }: LogEntry, isVerbose: boolean): string {
  if (error === undefined) return ''
  if (level === 'error' || isVerbose) return `\n${errorText(error)}`
  const { message: reason } = errorFacts(error)
  return message.includes(reason) ? '' : `: ${reason}`
}

function errorText(error: unknown): string {
  const { stack, message, cause } = errorFacts(error)
  return `${stack ?? message}${cause ? `\ncaused by: ${cause.stack ?? cause.message}` : ''}`
}

/** Writes synchronously: buffered lines would be lost if the process crashes. */
async function jsonLog(isVerbose: boolean): Promise<ServeLog> {
  const { pino } = await loadPackage('The JSON log', 'pino', import('pino'))
  const logger = pino(
    {
      level: isVerbose ? 'debug' : 'info',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ fd: 1, sync: true }),
  )
  return {
    log({ level, message, error, ...facts }) {
      logger[level]({ ...facts, ...(error !== undefined && { error: errorFacts(error) }) }, withoutSecrets(message))
    },
    ready(agents) {
      for (const { agent, url } of agents) logger.info({ agent, url }, `${agent} is ready at ${url}`)
    },
  }
}

interface BannerFacts {
  /** Ends in a slash. */
  readonly url: string
  readonly dialects: DialectChoice | undefined
  readonly hasApiKey: boolean
  readonly hasGrpc: boolean
}

/** The lines of the ready message: the addresses, and an example request for each dialect that is not a default. */
export function bannerLines({ url, dialects, hasApiKey, hasGrpc }: BannerFacts): readonly string[] {
  const base = withoutTrailingSlashes(url)
  const offered = chosenDialects(dialects).map(({ dialect, path = dialect.defaultPath }) => ({
    dialect,
    ...(path !== undefined && { path: withoutTrailingSlashes(path) }),
  }))
  const common = offered.flatMap(({ dialect, path }) => (path === undefined ? [dialect] : []))
  const rest = common.find(({ isListed, rest: form }) => isListed && form)?.rest
  const send = rest?.routes.find(({ operation }) => operation === 'sendMessage')
  const key = hasApiKey ? ` -H "X-API-Key: $API_KEY"` : ''
  return [
    ...(common.some(({ jsonrpc }) => jsonrpc && !jsonrpc.paths) ? [line('JSON-RPC', `POST ${url}`)] : []),
    ...(send ? [line('HTTP+JSON', `${send.method} ${base}${send.path}`)] : []),
    ...(hasGrpc && common.some(({ grpc }) => grpc) ? [line('gRPC', authorityOf(url))] : []),
    ...(common.some(({ card }) => card) ? [line('card', `GET  ${base}/.well-known/agent-card.json`)] : []),
    ...offered.flatMap(({ dialect, path }) => {
      if (path === undefined && dialect.isDefault) return []
      const address = `${base}${path ?? ''}${examplePath(dialect, path !== undefined)}`
      const body = JSON.stringify(dialect.example.body)
      return [
        line(dialect.name, `POST ${address}`),
        line('', `curl ${address} -H 'content-type: application/json'${key} -d '${body}'`),
      ]
    }),
  ]
}

/** Pinned dialects have JSON-RPC at the path they are pinned to. */
function examplePath({ example, jsonrpc, rest }: Dialect, isPinned: boolean): string {
  return isPinned && !rest && jsonrpc?.paths?.includes(example.path) ? '' : example.path
}

/** `host:port`, as on the card. */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function line(label: string, text: string): string {
  return `  ${label.padEnd(9)}  ${text}`
}
