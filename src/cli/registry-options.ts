/** The options of every command that talks to a registry. */

import { type Command, Option } from 'commander'
import { canParseUrl } from '../model/can-parse-url.js'
import { type RegisteredAgent, type RegistryClient, registryClient } from '../registry/index.js'
import { addOutputOption, toHeader } from './agent-options.js'
import { findLocalRegistry } from './local-registry.js'
import { type Format, Output } from './output.js'
import { oneLine, table } from './printable.js'
import { UsageError } from './usage-error.js'

export interface RegistryOptions {
  readonly registry?: string
  readonly namespace?: string
  readonly header?: Readonly<Record<string, string>>
  readonly output: Format
}

export function addRegistryOptions(command: Command): Command {
  return addOutputOption(
    command
      .addOption(new Option('--registry <url>', 'the registry (default: one on this machine)').env('DRAGOMAN_REGISTRY'))
      .option('-n, --namespace <name>', 'where the agent is (default: public)')
      .option('-H, --header <name: value>', 'a header for the registry; may be repeated', toHeader),
  )
}

export async function withRegistry(
  options: RegistryOptions,
  work: (registry: RegistryClient, output: Output) => Promise<void>,
): Promise<void> {
  const { namespace, header } = options
  if (options.registry !== undefined && !canParseUrl(options.registry))
    throw new UsageError(`--registry: ${options.registry} is no address`)
  const output = new Output(options.output)
  const registry = options.registry ?? (await findLocalRegistry())
  if (options.registry === undefined) output.note(`The registry at ${registry}:`)
  const client = registryClient(registry, {
    ...(namespace !== undefined && { namespace }),
    ...(header && { headers: header }),
  })
  await work(client, output)
}

export function agentsText(agents: readonly RegisteredAgent[]): string {
  if (agents.length === 0) return 'No agents'
  const rows = agents.map(({ namespace, name, version, instances, card }) =>
    [`${namespace}/${name}`, version, healthOf(instances), card?.description ?? ''].map(oneLine),
  )
  return table([['AGENT', 'VERSION', 'HEALTH', 'DESCRIPTION'], ...rows])
}

function healthOf(instances: RegisteredAgent['instances']): string {
  const states = new Map<string, number>()
  for (const { health } of instances) states.set(health.state, (states.get(health.state) ?? 0) + 1)
  return states.size === 0 ? 'nothing runs' : [...states].map(([state, count]) => `${count} ${state}`).join(', ')
}
