/** The parent side of `generator.ts`: starts it, sends it jobs and stops it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { modulePath } from '../module-path.ts'
import type { Jobs } from './generator.ts'

export type JobName = keyof Jobs
export type JobOptions<J extends JobName> = Parameters<Jobs[J]>[0]
export type JobResult<J extends JobName> = Jobs[J] extends (options: never) => Promise<infer Result extends object>
  ? Result
  : never

export interface JobMessage {
  /** The server whose CPU time the job measures. */
  readonly serverPid: number | undefined
  readonly job: JobName
  readonly options: object
}

export interface JobReply {
  readonly result?: object
  readonly error?: string
  readonly code?: string
}

export interface Load {
  /** Runs one job and returns its result. With `serverPid`, timings include the CPU time of that process. */
  run<J extends JobName>(job: J, options: JobOptions<J>, serverPid?: number): Promise<JobResult<J>>
  stop(): Promise<void>
}

export function startLoad(): Load {
  const child = fork(modulePath('load/generator'), { env: { ...process.env, NODE_ENV: 'production' } })
  return {
    async run<J extends JobName>(job: J, options: JobOptions<J>, serverPid?: number): Promise<JobResult<J>> {
      const answered = once(child, 'message') as Promise<[JobReply]> // the only messages of the generator
      child.send({ job, options, serverPid } satisfies JobMessage)
      const exited = once(child, 'exit').then((): [JobReply] => [{ error: 'The load generator exited' }])
      const [{ result, error, code }]: [JobReply] = await Promise.race([answered, exited])
      if (error !== undefined) throw Object.assign(new Error(error), { code })
      return result as JobResult<J> // the generator replies with the result of this job
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
