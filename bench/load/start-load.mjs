// The other end of `generator.mjs`: starts it, hands it jobs, ends it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const generator = fileURLToPath(new URL('generator.mjs', import.meta.url))

export function startLoad() {
  const child = fork(generator, { env: { ...process.env, NODE_ENV: 'production' } })
  return {
    /** Runs one job of `generator.mjs` and returns its result. */
    async run(job, options) {
      const answered = once(child, 'message')
      child.send({ job, options })
      const gone = once(child, 'exit').then(() => [{ error: 'The load generator died' }])
      const [{ result, error, code }] = await Promise.race([answered, gone])
      if (error) throw Object.assign(new Error(error), { code })
      return result
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
