/** Public health endpoints: `/healthz` reports that the process answers, `/readyz` that it accepts calls. */
import type { CompleteStore } from '../stores/store.js'
import { type HttpAnswer, jsonHeaders } from '../transports/exchange.js'

/** Undefined for other paths. */
type AnswerHealth = (method: string, path: string) => HttpAnswer | Promise<HttpAnswer> | undefined

export function createHealth(isReady: () => Promise<boolean>): AnswerHealth {
  return (method, path) => {
    if (path === '/healthz') return isRead(method) ? json(200, { status: 'ok' }) : onlyReads
    if (path === '/readyz') return isRead(method) ? readiness(isReady) : onlyReads
    return undefined
  }
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** The answer to methods other than GET and HEAD. */
export const onlyReads: HttpAnswer = { status: 405, headers: { allow: 'GET, HEAD' } }

async function readiness(isReady: () => Promise<boolean>): Promise<HttpAnswer> {
  const isUp = await isReady().catch(() => false)
  return json(isUp ? 200 : 503, { status: isUp ? 'ready' : 'not ready' })
}

function json(status: number, body: object): HttpAnswer {
  return { status, headers: jsonHeaders, body: JSON.stringify(body) }
}

/** Time after which the store counts as unavailable. Load balancers poll every few seconds. */
const pingTimeoutMs = 1_500

/**
 * Checks whether this server accepts calls: not while draining, and not without the store. Concurrent checks share one
 * ping, so that a database that hangs does not get further ones.
 */
export function createReadiness(store: Pick<CompleteStore, 'ping'>, isDraining: () => boolean): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  const ask = (): Promise<boolean> => {
    asked ??= store
      .ping()
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        asked = undefined
      })
    return asked
  }
  return async () => {
    if (isDraining()) return false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), pingTimeoutMs)
    })
    const isThere = await Promise.race([ask(), late])
    clearTimeout(timer)
    return isThere && !isDraining()
  }
}
