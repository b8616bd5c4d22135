// Prepares a clean clone for `npm start` and `npm test`: installs missing packages from the lockfile and, with --build,
// compiles `dist/` if its sources have changed. A lock lets concurrent commands wait for each other.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (path) => `${root}${path}`
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Dragoman needs Node 20.19 or newer; this is ${process.versions.node}`)
  process.exit(1)
}

/** Compares the lockfile with npm's list of installed packages. Optional packages for other platforms may be missing. */
function isInstalled() {
  const wanted = packagesIn('package-lock.json')
  const there = packagesIn('node_modules/.package-lock.json')
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '') return true // the root package
    return path in there ? there[path].version === version : optional === true
  })
}

function packagesIn(lockfile) {
  return JSON.parse(readIfThere(at(lockfile)) || '{}').packages ?? {}
}

/** `npm ci` removes `node_modules` first, which must not happen behind a link to a shared folder. */
const isShared = () => lstatSync(at('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink() === true

// The last step of `npm run build`.
if (process.argv.includes('--built')) {
  writeFileSync(at('dist/.built'), stateOfSources())
  process.exit(0)
}

await locked(() => {
  if (!isInstalled() && isShared()) {
    console.error('node_modules is a link: its packages are used, and nothing is installed')
  } else if (!isInstalled()) {
    console.error('Installing dependencies from the lockfile…')
    npm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'])
  }
  if (process.argv.includes('--build')) build()
})

/** Builds only after a change, because a process may be running the existing build. */
function build() {
  const stamp = at('dist/.built')
  const state = stateOfSources()
  // A build that is newer than the stamp was made by hand, from unknown sources.
  const isOurs = age(at('dist/index.js')) >= age(stamp)
  if (readIfThere(stamp) === state && isOurs) return
  rmSync(stamp, { force: true }) // an interrupted build must not look complete
  console.error('Building Dragoman (about 20 s, only at the first start and after changes)…')
  npm(['run', '--silent', 'build'])
  writeFileSync(stamp, state)
}

function stateOfSources() {
  const hash = createHash('sha256')
  const settings = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'tsconfig.examples.json',
    'scripts/bundle.mjs',
  ]
  for (const name of [...settings, 'src', 'console', 'examples']) {
    const isFolder = statSync(at(name)).isDirectory()
    const files = isFolder ? readdirSync(at(name), { recursive: true, encoding: 'utf8' }).sort() : ['']
    for (const file of files) {
      const path = isFolder ? `${name}/${file}` : name
      if (statSync(at(path)).isFile()) hash.update(`${path}\0`).update(readFileSync(at(path)))
    }
  }
  return hash.digest('hex')
}

function npm(args) {
  const result = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (result.status !== 0) {
    console.error(`npm ${args.join(' ')} failed`)
    process.exit(result.status ?? 1)
  }
}

/** Uses a folder as a lock, because creating a folder is atomic on every file system. */
async function locked(work) {
  const lock = at('.dragoman-lock')
  const staleAfterMs = 10 * 60_000
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      const holder = Number(readIfThere(`${lock}/pid`))
      const abandoned = holder ? !isAlive(holder) : age(lock) > staleAfterMs
      if (abandoned) rmSync(lock, { recursive: true, force: true })
      else await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  const release = () => rmSync(lock, { recursive: true, force: true })
  process.once('exit', release)
  writeFileSync(`${lock}/pid`, String(process.pid))
  work()
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function age(path) {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
