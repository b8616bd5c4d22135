/** The log of `dragoman serve`: text on stderr and the ready message on stdout, or everything as JSON lines on stdout. */
import pc from 'picocolors'
import type { LogEntry } from '../engine/index.js'
import { errorFacts, withoutSecrets } from '../model/error-facts.js'
import { loadPackage } from '../model/load-package.js'
import { onStderr, printable } from './printable.js'

export const logFormats = ['text', 'json'] as const
export type LogFormat = (typeof logFormats)[number]

export interface ServeLog {
  log(entry: LogEntry): void
  ready(agents: readonly ReadyAgent[]): void
}

/** An agent that accepts calls. */
export interface ReadyAgent {
  readonly agent: string
  readonly url: string
  /** Further lines of the text format. */
  readonly lines: readonly string[]
}

export interface ServeLogOptions {
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
