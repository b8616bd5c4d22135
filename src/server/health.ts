/** Public health endpoints: `/healthz` reports that the process answers, `/readyz` that it accepts calls. */
import type { CompleteStore } from '../stores/store.js'

/** Undefined for other paths. */
type AnswerHealth = (request: Request, path: string) => Promise<Response> | undefined

export function createHealth(isReady: () => Promise<boolean>): AnswerHealth {
  return (request, path) => {
    if (path === '/healthz') return readOnly(request, async () => json(200, { status: 'ok' }))
    if (path === '/readyz') return readOnly(request, () => readiness(isReady))
    return undefined
  }
}

/** Rejects methods other than GET and HEAD. */
export async function readOnly(request: Request, answer: () => Promise<Response>): Promise<Response> {
  if (request.method === 'GET' || request.method === 'HEAD') return await answer()
  return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } })
}

async function readiness(isReady: () => Promise<boolean>): Promise<Response> {
  const isUp = await isReady().catch(() => false)
  return json(isUp ? 200 : 503, { status: isUp ? 'ready' : 'not ready' })
}

function json(status: number, body: object): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
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
