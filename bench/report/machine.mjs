// What the figures were taken on. Names no place on the machine's disk.
import { readFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'

const competitors = ['@a2a-js/sdk', '@bufbuild/protobuf', '@grpc/grpc-js', 'express', 'kysely', 'libsql', 'undici']

export function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${arch()}`,
    node: process.version,
    loadAverageAtStart: loadavg()[0],
  }
}

export function describeVersions() {
  const versions = { dragoman: versionIn('../../package.json') }
  for (const name of competitors) {
    versions[name] = versionIn(`../node_modules/${name}/package.json`)
  }
  return versions
}

function versionIn(relative) {
  return JSON.parse(readFileSync(new URL(relative, import.meta.url), 'utf8')).version
}
