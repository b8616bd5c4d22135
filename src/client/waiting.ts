import { leftBy } from '../model/transport-error.js'
import type { Waiting } from './retry.js'

/** Real time and real chance. */
export const waiting: Waiting = {
  random: Math.random,
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        if (signal?.aborted) reject(leftBy(signal))
        else resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
    }),
}
