// Starts one contestant in a fresh process, waits for its ready line and ends it again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contestants } from './contestants.mjs'
import { newDatabase } from './postgres.mjs'

const readyTimeoutMs = 20_000
const probe = new URL('probe.mjs', import.meta.url).href

/**
 * @param {string} name a key of `contestants`
 * @param {{ hasProbe?: boolean, database?: string }} [options] whether memory can be asked for; a database that
 *   another server uses too
 */
export async function startServer(name, options = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  const place = { port: await freePort(), database: options.database ?? (await placeFor(name, folder)) }
  const flags = options.hasProbe ? ['--expose-gc', '--import', probe] : []
  const child = spawn(process.execPath, [...flags, ...contestants[name].args(place)], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'pipe', ...(options.hasProbe ? ['ipc'] : [])],
  })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const stop = async () => {
    await end(child)
    process.off('exit', killNow)
    await rm(folder, { recursive: true, force: true })
  }
  const said = collectComplaints(child)
  try {
    const origin = await readyOrigin(child, { name, said })
    return {
      origin,
      memory: () => askMemory(child),
      cpuSeconds: () => cpuSeconds(child.pid),
      complaints: said,
      /** It does not end, and does nothing any more. */
      freeze: () => child.kill('SIGSTOP'),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function placeFor(name, folder) {
  return contestants[name].needsPostgres ? await newDatabase() : join(folder, 'tasks.db')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** The beginning of what a server says on standard error; it goes into the report of a failure. */
function collectComplaints(child) {
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    if (complaints.length < 2000) complaints += chunk
  })
  return () => complaints
}

/** The first address on standard output. */
function readyOrigin(child, { name, said }) {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (reason) => reject(new Error(`${name} ${reason}\n${output}${said()}`))
    const timer = setTimeout(() => fail('printed no address in time'), readyTimeoutMs)
    child.once('exit', (code) => {
      clearTimeout(timer)
      fail(`ended with exit code ${code} before it was ready`)
    })
    child.stdout.on('data', (chunk) => {
      output += chunk
      const address = /http:\/\/[\w.:[\]-]+/.exec(output)?.[0]
      if (!address) return
      clearTimeout(timer)
      // Drop what comes later: a filling pipe would stop the server.
      child.stdout.removeAllListeners('data').resume()
      resolve(new URL(address).origin)
    })
  })
}

async function askMemory(child) {
  const answered = once(child, 'message')
  child.send('memory')
  const [memory] = await answered
  return memory
}

/** User and system time so far; undefined where there is no /proc. */
async function cpuSeconds(pid) {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticksPerSecond = 100
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return undefined
  }
}

/** Without ceremony: no figure depends on an orderly end, and the database is deleted anyway. */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
