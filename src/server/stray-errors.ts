/**
 * Prevents a stray error of one agent from ending the process. While a server runs, an unhandled rejection or an
 * exception in a callback fails the task whose handler caused it, if the asynchronous context identifies it. Other
 * rejections are logged; other exceptions end the process, as without a server. If the application has listeners for
 * these events, they decide.
 */
import { attributeStrayErrors, currentTurn } from '../engine/execution/handler-watch.js'
import { type LogOption, settleLog } from './default-log.js'

const servers = new Set<{ readonly log: LogOption }>()
let uninstall: (() => void) | undefined

/** `log` is the server's option. Call the returned function when the server has closed. */
export function watchStrayErrors(log: LogOption): () => void {
  const server = { log }
  servers.add(server)
  uninstall ??= install()
  return () => {
    servers.delete(server)
    if (servers.size > 0) return
    uninstall?.()
    uninstall = undefined
  }
}

function install(): () => void {
  const isRejectionOurs = process.listenerCount('unhandledRejection') === 0
  const isExceptionOurs = process.listenerCount('uncaughtException') === 0
  if (!isRejectionOurs && !isExceptionOurs) return () => undefined
  const stopAttributing = attributeStrayErrors()
  if (isRejectionOurs) process.on('unhandledRejection', onRejection)
  if (isExceptionOurs) process.on('uncaughtException', onException)
  return () => {
    stopAttributing()
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

function onRejection(error: unknown): void {
  const turn = currentTurn()
  if (turn) turn.strayError(error)
  else logError('A promise was rejected and nothing handled it', error)
}

function onException(error: unknown): void {
  const turn = currentTurn()
  if (turn) {
    turn.strayError(error)
    return
  }
  logError('An exception was thrown and nothing caught it', error)
  // An application that has added a listener meanwhile decides.
  if (process.listenerCount('uncaughtException') > 1) return
  // Without a listener Node prints the stack and exits.
  process.off('uncaughtException', onException)
  process.nextTick(() => {
    throw error
  })
}

/** Writes to the log of every server; to stderr if no server has a log, because these errors concern the process. */
function logError(message: string, error: unknown): void {
  const logs = new Set([...servers].flatMap(({ log }) => (log === false ? [] : [settleLog(log)])))
  if (logs.size === 0) logs.add(settleLog(undefined))
  for (const log of logs) log({ level: 'error', message, error })
}
