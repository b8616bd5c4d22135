/** Several replicas on one database, behind a balancer. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../hostile/waiting.js'
import { startBalancer } from './balancer.js'

const script = fileURLToPath(new URL('replica.mjs', import.meta.url))
const wrongClock = new URL('wrong-clock.mjs', import.meta.url).href

interface ReplicaOptions {
  readonly store: string
  readonly port: number
  readonly leaseMs: number
  readonly workLog: string
  /** The error of the replica's clock. */
  readonly clockErrorMs: number
}

export class Replica {
  readonly port: number
  readonly url: string
  readonly #options: ReplicaOptions
  #child: ChildProcess | undefined
  stderr = ''

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.port = options.port
    this.url = `http://127.0.0.1:${options.port}/`
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, ['--import', wrongClock, script, JSON.stringify(this.#options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CLOCK_ERROR_MS: String(this.#options.clockErrorMs) },
    })
    this.#child = child
    let isReady = false
    child.stdout?.on('data', (text) => {
      isReady ||= String(text).includes('ready')
    })
    child.stderr?.on('data', (text) => {
      this.stderr += String(text)
    })
    await eventually(20_000, `replica ${this.port} to be ready`, () => {
      if (child.exitCode !== null) throw new Error(`Replica ${this.port} ended: ${this.stderr}`)
      return isReady
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await exited
  }
}

export interface Cluster extends AsyncDisposable {
  readonly url: string
  readonly replicas: readonly Replica[]
  /** The lines that the agents appended to their work log. */
  workLines(): readonly string[]
}

export async function startCluster(
  store: string,
  { leaseMs, clockErrorsMs = [0, 0, 0] }: { readonly leaseMs: number; readonly clockErrorsMs?: readonly number[] },
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-replicas-'))
  const workLog = join(folder, 'work')
  writeFileSync(workLog, '')
  const ports = await freePorts(clockErrorsMs.length)
  const replicas = clockErrorsMs.map((clockErrorMs, index) => {
    const port = ports[index] as number // there is one port per replica
    return new Replica({ store, port, leaseMs, workLog, clockErrorMs })
  })
  await Promise.all(replicas.map((replica) => replica.start()))
  const balancer = await startBalancer(ports)
  return {
    url: balancer.url,
    replicas,
    workLines: () => readFileSync(workLog, 'utf8').split('\n').filter(Boolean),
    async [Symbol.asyncDispose]() {
      await balancer[Symbol.asyncDispose]()
      for (const replica of replicas) replica.signal('SIGCONT')
      await Promise.all(replicas.map((replica) => replica.end()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port) // the servers listen on TCP ports
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
