// Writes package-lock.json so that `npm ci` works on every platform. Run: npm run lock
//
// npm omits an optional platform package (`@scope/name-linux-x64`) from the lockfile if the registry in use does not have
// it, and then rejects its own lockfile. The parent names the package, its version and its platform, so this script adds the
// entry. It asks the registry for the integrity of entries that have none. If the registry lacks a platform package of the
// newest version, the script fails: pin the parent to an older version (see `@biomejs/biome`, `vite` and `rolldown` in
// package.json), or pass `--allow-missing` to have entries of other platforms without integrity (see integrations/).
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const file = 'package-lock.json'
execFileSync('npm', ['install', '--package-lock-only', '--omit-lockfile-registry-resolved'], {
  stdio: 'inherit',
})

const lock = JSON.parse(readFileSync(file, 'utf8'))
const platforms = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const cpus = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32']

const added = []
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const known = [`${path}/node_modules/${name}`, `node_modules/${name}`].some((key) => lock.packages[key])
    if (known || !/^\d/.test(version)) continue
    const words = name.split(/[/\-_.]/)
    const os = platforms.filter((word) => words.includes(word))
    const cpu = cpus.filter((word) => words.includes(word) || (word === 'arm' && /-arm-/.test(name)))
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(cpu.length > 0 && { cpu: cpu.slice(0, 1) }),
      ...(entry.dev && { dev: true }),
      optional: true,
      ...(os.length > 0 && { os: os.slice(0, 1) }),
    }
    added.push(name)
  }
}

const unknown = []
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!path.includes('node_modules/') || entry.link || entry.inBundle || entry.integrity) continue
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const integrity = integrityOf(name, entry.version)
  if (integrity) entry.integrity = integrity
  else if (!entry.optional || !process.argv.includes('--allow-missing')) unknown.push(`${name}@${entry.version}`)
}
if (unknown.length > 0) {
  console.error(
    `No integrity for ${unknown.join(', ')}: the registry does not carry them. Pin the packages they belong to`,
  )
  process.exit(1)
}

function integrityOf(name, version) {
  try {
    return execFileSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}

lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${file}: ${added.length} platform packages added`)
