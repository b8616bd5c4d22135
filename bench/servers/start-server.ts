/** Starts one server in a new process, waits until it is ready, and stops it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { modulePath } from '../module-path.ts'
import { newDatabase } from './postgres.ts'
import type { MemoryReport } from './probe.ts'
import { type TargetName, targets } from './targets.ts'

const readyTimeoutMs = 20_000

export interface ServerOptions {
  /** Whether `memory()` is available. Default false: the probe must be absent when speed is measured. */
  readonly hasProbe?: boolean
  /** A database that another server uses too. Default: a new one. */
  readonly database?: string
}

export interface StartedServer {
  readonly origin: string
  memory(): Promise<MemoryReport>
  /** CPU time so far; undefined on systems without `/proc`. */
  cpuSeconds(): Promise<number | undefined>
  /** The first 2,000 characters of its standard error. */
  stderr(): string
  /** Suspends the process without ending it. */
  freeze(): void
  stop(): Promise<void>
}

export async function startServer(name: TargetName, options: ServerOptions = {}): Promise<StartedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const launch = { port: await freePort(), database: options.database ?? (await databaseFor(name, folder)) }
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
      memory: () => askMemory(child),
      cpuSeconds: () => cpuSeconds(child.pid),
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

async function askMemory(child: ChildProcess): Promise<MemoryReport> {
  const answered = once(child, 'message')
  child.send('memory')
  const [report] = await answered
  return report
}

async function cpuSeconds(pid: number | undefined): Promise<number | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticksPerSecond = 100
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return undefined
  }
}

/** No graceful shutdown: no figure depends on it, and the database is deleted. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
