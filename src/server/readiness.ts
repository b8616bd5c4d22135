import type { CompleteStore } from '../stores/store.js'

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
