/**
 * What a server says on the command line: sentences for people, or one JSON object a line for programs. People get
 * their sentences on stderr, beside what is printed; programs get everything on stdout.
 */
import pc from 'picocolors'
import type { LogEntry } from '../engine/index.js'
import { errorFacts, withoutSecrets } from '../model/error-facts.js'
import { loadPackage } from '../model/load-package.js'
import { onStderr } from './colours.js'
import { printable } from './printable.js'

export const logFormats = ['text', 'json'] as const
export type LogFormat = (typeof logFormats)[number]

export interface ServeLog {
  log(entry: LogEntry): void
  ready(agents: readonly ReadyAgent[]): void
}

/** An agent that can be called now. */
export interface ReadyAgent {
  readonly agent: string
  readonly url: string
  /** What people may want to know besides. */
  readonly more: readonly string[]
}

export interface ServeLogOptions {
  /** Default: for people on a terminal, for programs anywhere else. */
  readonly format?: LogFormat | undefined
  /** Calls and other matters of course, too. */
  readonly isVerbose: boolean
}

export async function openServeLog({ format, isVerbose }: ServeLogOptions): Promise<ServeLog> {
  const chosen = format ?? (process.stdout.isTTY ? 'text' : 'json')
  return chosen === 'json' ? await forPrograms(isVerbose) : forPeople(isVerbose)
}

function forPeople(isVerbose: boolean): ServeLog {
  return {
    log({ level, message, agent, dialect, taskId, error }) {
      if (!isVerbose && level !== 'error' && level !== 'warn') return
      const facts = [dialect && `dialect ${dialect}`, taskId && `task ${taskId}`].filter(Boolean)
      const words = [message, ...facts, ...(isVerbose && agent !== undefined ? [`(${agent})`] : [])].join(' ')
      const label = level === 'warn' ? onStderr.yellow('warning:') : onStderr.dim(`${level}:`)
      console.error(`${label} ${printable(withoutSecrets(words + detailsOf({ level, message, error }, isVerbose)))}`)
    },
    ready(agents) {
      const lines = agents.flatMap(({ agent, url, more }) => [
        `${pc.bold(agent)} is ready at ${pc.cyan(url)}`,
        ...more.map((line) => pc.dim(line)),
      ])
      // In one piece: whoever waits for the first line may want the others too.
      console.log(lines.join('\n'))
    },
  }
}

/** Where an error came about is worth its lines when it is a fault; a warning is about what is elsewhere. */
function detailsOf({ level, message, error }: LogEntry, isVerbose: boolean): string {
  if (error === undefined) return ''
  if (level === 'error' || isVerbose) return `\n${errorText(error)}`
  const { message: why } = errorFacts(error)
  return message.includes(why) ? '' : `: ${why}`
}

/** Each on lines of its own, and causes below what they caused. */
function errorText(error: unknown): string {
  const { stack, message, cause } = errorFacts(error)
  return `${stack ?? message}${cause ? `\ncaused by: ${cause.stack ?? cause.message}` : ''}`
}

/** Written at once: a line that waits in a buffer is lost with the process that it is about. */
async function forPrograms(isVerbose: boolean): Promise<ServeLog> {
  const { pino } = await loadPackage('The log as JSON', 'pino', import('pino'))
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
