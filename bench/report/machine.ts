/** The machine and the versions that belong to the figures. Contains no path of the machine's disk. */
import { readFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  readonly loadAverageAtStart: number
}

/** Measured packages by their name on npm, and the folder below `node_modules` that holds them. */
const packages = {
  '@a2a-js/sdk': 'a2a-sdk-v1',
  '@bufbuild/protobuf': '@bufbuild/protobuf',
  '@grpc/grpc-js': '@grpc/grpc-js',
  express: 'express',
  kysely: 'kysely',
  libsql: 'libsql',
  undici: 'undici',
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${arch()}`,
    node: process.version,
    loadAverageAtStart: loadavg()[0] ?? 0,
  }
}

export function describeVersions(): Record<string, string> {
  const versions: Record<string, string> = { dragoman: versionIn('') }
  for (const [name, folder] of Object.entries(packages)) versions[name] = versionIn(`node_modules/${folder}/`)
  return versions
}

function versionIn(folder: string): string {
  const file = new URL(`../../${folder}package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version // npm requires the member
}
