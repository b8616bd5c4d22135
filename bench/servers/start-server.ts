/** Starts one server in a new process, waits until it is ready, and stops it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { modulePath } from '../module-path.ts'
import { newDatabase } from './postgres.ts'
import type { AllocationReport, MemoryReport } from './probe.ts'
import { type TargetName, targets } from './targets.ts'

const readyTimeoutMs = 20_000

export interface ServerOptions {
  /** Whether `memory()` and `allocation()` are available. Default false: the probe must be absent when speed is measured. */
  readonly hasProbe?: boolean
  /** A database that another server uses too. Default: a new one. */
  readonly database?: string
  /** The agent that a proxy serves. */
  readonly upstream?: string
}

export interface StartedServer {
  readonly origin: string
  readonly pid: number | undefined
  memory(): Promise<MemoryReport>
  /** Needs the probe, as `memory` does. */
  allocation(): Promise<AllocationReport>
  /** The first 2,000 characters of its standard error. */
  stderr(): string
  /** Suspends the process without ending it. */
  freeze(): void
  stop(): Promise<void>
}

export async function startServer(name: TargetName, options: ServerOptions = {}): Promise<StartedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const { upstream, database = await databaseFor(name, folder) } = options
  const launch = { port: await freePort(), database, upstream }
  const flags = options.hasProbe ? ['--expose-gc', '--import', pathToFileURL(modulePath('servers/probe')).href] : []
  const child = spawn(process.execPath, [...flags, ...targets[name].args(launch)], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'pipe', ...(options.hasProbe ? (['ipc'] as const) : [])],
  })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const stop = async () => {
    await kill(child)
    process.off('exit', killNow)
    await rm(folder, { recursive: true, force: true })
  }
  const stderr = collectStderr(child)
  try {
    const origin = await readyOrigin(child, { name, stderr })
    return {
      origin,
      pid: child.pid,
      memory: () => ask<MemoryReport>(child, 'memory'),
      allocation: () => ask<AllocationReport>(child, 'allocation'),
      stderr,
      freeze: () => void child.kill('SIGSTOP'),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function databaseFor(name: TargetName, folder: string): Promise<string> {
  return targets[name].needsPostgres ? await newDatabase() : join(folder, 'tasks.db')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  server.close()
  await once(server, 'close')
  return port
}

function collectStderr(child: ChildProcess): () => string {
  let text = ''
  child.stderr?.on('data', (chunk) => {
    if (text.length < 2000) text += chunk
  })
  return () => text
}

interface ReadyOptions {
  readonly name: TargetName
  stderr(): string
}

/** The first address on standard output. */
function readyOrigin(child: ChildProcess, { name, stderr }: ReadyOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (reason: string) => reject(new Error(`${name} ${reason}\n${output}${stderr()}`))
    const timer = setTimeout(() => fail(`printed no address in ${readyTimeoutMs / 1000} s`), readyTimeoutMs)
    child.once('exit', (code) => {
      clearTimeout(timer)
      fail(`exited with code ${code} before it was ready`)
    })
    child.stdout?.on('data', (chunk) => {
      output += chunk
      const address = /http:\/\/[\w.:[\]-]+/.exec(output)?.[0]
      if (!address) return
      clearTimeout(timer)
      // Discards later output: a full pipe would block the server.
      child.stdout?.removeAllListeners('data').resume()
      resolve(new URL(address).origin)
    })
  })
}

async function ask<Report>(child: ChildProcess, what: 'memory' | 'allocation'): Promise<Report> {
  const answered = once(child, 'message')
  child.send(what)
  const [report] = await answered
  return report
}

/** No graceful shutdown: no figure depends on it, and the database is deleted. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
