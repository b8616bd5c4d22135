import type { CompleteStore } from '../stores/store.js'
/** `/healthz` says that the process answers at all, `/readyz` that calls should come here. For everybody, to read. */

/** Absent where the path is neither. */
export type AnswerHealth = (request: Request, path: string) => Promise<Response> | undefined

export function createHealth(isReady: () => Promise<boolean>): AnswerHealth {
  return (request, path) => {
    if (path === '/healthz') return readOnly(request, async () => json(200, { status: 'ok' }))
    if (path === '/readyz') return readOnly(request, () => readiness(isReady))
    return undefined
  }
}

/** For what can be read and nothing else. */
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

/** Load balancers ask every few seconds and count silence as an answer of its own. */
const patienceMs = 1_500

/**
 * Whether calls should come here: not while draining, and not without the store. Asked while an earlier question
 * is still under way, that one's answer is waited for: a database that hangs is not asked again and again.
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
      timer = setTimeout(() => resolve(false), patienceMs)
    })
    const isThere = await Promise.race([ask(), late])
    clearTimeout(timer)
    return isThere && !isDraining()
  }
}
