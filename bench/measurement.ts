/** One measurement: a new server process and a new load generator, both stopped at the end. */
import { type JobName, type JobOptions, type JobResult, type Load, startLoad } from './load/start-load.ts'
import type { Timing } from './load/workers.ts'
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
 * Runs a job against the server and measures the server's CPU time during the measured part of the job. A generator
 * with a higher CPU share than the server is the bottleneck, and the throughput is about the generator.
 */
export async function runTimed<J extends JobName>(
  { server, load }: Measurement,
  job: J,
  options: Omit<JobOptions<J>, 'origin'>,
): Promise<JobResult<J>> {
  // `Omit` of a generic type hides that only `origin` is missing.
  return await load.run(job, { origin: server.origin, ...options } as unknown as JobOptions<J>, server.pid)
}

/** The figures that every timed measurement has: CPU time per unit of work first, then throughput and CPU shares. */
export function timedFigures(timing: Timing, count: number): TimedFigures {
  const { seconds, serverCpuMicros: cpu, generatorCpuMicros } = timing
  return {
    cpuMicros: cpu === undefined ? undefined : cpu / count,
    perSecond: count / seconds,
    serverBusy: cpu === undefined ? undefined : cpu / 1e6 / seconds,
    generatorBusy: generatorCpuMicros / 1e6 / seconds,
  }
}

// A type, not an interface: it must be assignable to `Figures`.
export type TimedFigures = {
  /** CPU time of the server per request or event, in microseconds; undefined on systems without `/proc`. */
  readonly cpuMicros: number | undefined
  /** Requests or events per second. */
  readonly perSecond: number
  /** CPU shares, from 0 to 1 for each core. */
  readonly serverBusy: number | undefined
  readonly generatorBusy: number
}
