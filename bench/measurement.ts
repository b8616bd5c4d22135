/** One measurement: a new server process and a new load generator, both stopped at the end. */
import { type JobName, type JobOptions, type JobResult, type Load, startLoad } from './load/start-load.ts'
import { type ServerOptions, type StartedServer, startServer } from './servers/start-server.ts'
import type { TargetName } from './servers/targets.ts'

export interface Measurement {
  readonly server: StartedServer
  readonly load: Load
}

export async function withServer<T>(
  target: TargetName,
  options: ServerOptions,
  work: (measurement: Measurement) => Promise<T>,
): Promise<T> {
  const server = await startServer(target, options)
  const load = startLoad()
  try {
    return await work({ server, load })
  } catch (error) {
    const stderr = server.stderr()
    if (stderr && error instanceof Error) error.message += `\nStandard error of ${target}:\n${stderr}`
    throw error
  } finally {
    await load.stop()
    await server.stop()
  }
}

/**
 * Runs a job and adds the CPU share of the server during the job, warm-up included. A generator with a higher share
 * than the server is the bottleneck, and the figure is about the generator.
 */
export async function runTimed<J extends JobName>(
  { server, load }: Measurement,
  job: J,
  options: Omit<JobOptions<J>, 'origin'>,
): Promise<JobResult<J> & { serverBusy: number | undefined }> {
  const startedAt = performance.now()
  const cpuBefore = await server.cpuSeconds()
  // `Omit` of a generic type hides that only `origin` is missing.
  const result = await load.run(job, { origin: server.origin, ...options } as unknown as JobOptions<J>)
  const cpuAfter = await server.cpuSeconds()
  const seconds = (performance.now() - startedAt) / 1000
  const isKnown = cpuBefore !== undefined && cpuAfter !== undefined
  return { ...result, serverBusy: isKnown ? (cpuAfter - cpuBefore) / seconds : undefined }
}
