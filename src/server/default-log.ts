/** The default `log` of a server: warnings and errors on stderr, one line each. */
import { fileURLToPath } from 'node:url'
import { type ErrorFacts, errorFacts, withoutSecrets } from '../model/error-facts.js'
import type { Log, LogEntry } from '../model/log.js'

/** A log function, `false` for silence, or absent for the default. */
export type LogOption = Log | false | undefined

const maxCharacters = 4_000

export function settleLog(log: LogOption): Log {
  if (log === undefined) return writeToStderr
  if (log === false) return () => undefined
  if (typeof log === 'function') return guarded(log)
  throw new TypeError('`log` is a function that takes one entry, `({ level, message, error }) => …`, or `false`')
}

/** One function for each log of an application: entries are limited by log. */
const guardedLogs = new WeakMap<Log, Log>()

/** A log that throws or rejects must not affect calls. */
function guarded(log: Log): Log {
  const failed = (error: unknown) => writeToStderr({ level: 'error', message: 'The function `log` failed', error })
  const known = guardedLogs.get(log)
  if (known) return known
  const safe: Log = (entry) => {
    try {
      const promised: unknown = log(entry)
      if (promised instanceof Promise) promised.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
  guardedLogs.set(log, safe)
  // A guarded log is guarded already.
  guardedLogs.set(safe, safe)
  return safe
}

function writeToStderr({ level, message, agent, taskId, error }: LogEntry): void {
  if (level !== 'error' && level !== 'warn') return
  const about = [agent !== undefined && `agent ${agent}`, taskId !== undefined && `task ${taskId}`].filter(Boolean)
  const place = about.length > 0 ? ` (${about.join(', ')})` : ''
  const why = error === undefined ? '' : `: ${describeError(errorFacts(error))}`
  console.error(`dragoman ${level}: ${oneLine(withoutSecrets(message) + place + why)}`)
}

function describeError({ name, message, stack, cause }: ErrorFacts): string {
  const frame = firstFrame(stack)
  const text = name === undefined ? message : `${name}: ${message}`
  return text + (frame && ` ${frame}`) + (cause ? `; caused by ${describeError(cause)}` : '')
}

/** The folder of this package's own code: `dist` if it is installed, `src` in its tests. */
const ownFolders = foldersOf(import.meta.url)

/**
 * As an address and as a path. A bundler may have moved this file elsewhere; then only frames of the bundle are its own.
 * Bundles for Cloudflare Workers have no address.
 */
function foldersOf(url: string | undefined): readonly string[] {
  if (url === undefined) return []
  const place = Math.max(url.lastIndexOf('/dist/'), url.lastIndexOf('/src/'))
  const folder = place < 0 ? url : url.slice(0, url.indexOf('/', place + 1) + 1)
  return [folder, fileURLToPath(folder)]
}

/** The innermost frame of application code, else the innermost one. */
function firstFrame(stack = ''): string {
  const frames = stack
    .slice(0, maxCharacters)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
  // A package that was installed from a folder is a link: its frames do not contain `node_modules`.
  const isForeign = (frame: string) =>
    /node:|node_modules/.test(frame) || ownFolders.some((folder) => frame.includes(folder))
  return frames.find((frame) => !isForeign(frame)) ?? frames[0] ?? ''
}

/** Text from callers may hold line ends and terminal control sequences: one entry stays one line. */
function oneLine(text: string): string {
  return text.slice(0, maxCharacters).replace(/[\p{Cc}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}
