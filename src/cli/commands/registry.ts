import { Command, InvalidArgumentError, Option } from 'commander'
import pc from 'picocolors'
import { apiKey } from '../../auth/index.js'
import { TransportError } from '../../client/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import {
  type RegisteredAgent,
  type RegistryClient,
  type RegistryEvent,
  registryClient,
  serveRegistry,
} from '../../registry/index.js'
import { addOutputOption, collect, toCount, toHeader, toPort, toPositive } from '../agent-options.js'
import { UsageError } from '../failure.js'
import { type Format, Output } from '../output.js'
import { oneLine, table } from '../printable.js'
import { readRawCard } from '../raw-card.js'
import { findLocalRegistry, registryPort } from '../registry-lookup.js'
import { type AccessOptions, addAccessOptions, closeOnSignal, readAccess, withUsageErrors } from '../server-options.js'

export function registryCommand(): Command {
  const command = new Command('registry').description('Run a registry, and list, find and publish the agents of one')
  const creators = [serveCommand, listCommand, searchCommand, publishCommand, withdrawCommand, watchCommand]
  for (const create of creators) command.addCommand(create())
  return command
}

interface ServeOptions extends AccessOptions {
  readonly port: number
  readonly host: string
  readonly store: string
  readonly ownerKey?: Readonly<Record<string, string>>
  readonly publicRead?: true
  readonly publicUrl?: string
  readonly allowPrivate?: true
  readonly probes: boolean
  readonly anyCard?: true
}

function serveCommand(): Command {
  return addAccessOptions(
    new Command('serve')
      .description('Run a registry: its own API, ARD 0.9 and the A2A API of Nacos 3 on one port')
      .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort, registryPort)
      .option(
        '--host <address>',
        'address to bind; an address other than loopback requires an authentication option or --no-auth',
        '127.0.0.1',
      )
      .option('--store <store>', 'memory, sqlite:PATH or postgres://USER@HOST/DATABASE', 'memory')
      .option('--owner-key <owner=key>', 'let this owner publish with this key in X-API-Key; repeatable', toKey)
      .option('--public-read', 'let callers without credentials read; publishing still requires a key')
      .option('--public-url <url>', 'address that clients use, for catalogs (default: the address it listens at)')
      .option('--allow-private', 'accept agents on private networks and on this machine')
      .option('--no-probes', 'do not check the health of agents')
      .option('--any-card', 'accept every card that can be read, valid or not'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry serve --allow-private
  dragoman registry serve --store sqlite:registry.sqlite --owner-key ann=secret --public-read
  dragoman serve --echo --register http://localhost:8848`,
    )
    .action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  const { port, host, store, publicUrl, publicRead = false, allowPrivate = false } = options
  const { auth, ...access } = await readAccess(options)
  const schemes = options.ownerKey ? [apiKey(options.ownerKey), ...(Array.isArray(auth) ? auth : [])] : auth
  if (options.ownerKey && auth === 'none') throw new UsageError('--no-auth contradicts --owner-key: leave one out')
  const served = await withUsageErrors(() =>
    serveRegistry({
      ...{ port, host, store, publicRead, allowPrivate },
      ...(publicUrl !== undefined && { publicUrl }),
      ...(schemes && { auth: schemes }),
      ...access,
      ...(!options.probes && { probes: false }),
      ...(options.anyCard && { cards: 'readable' }),
      log: ({ level, message, error }) => console.error(pc.dim(level), message, error),
    }),
  )
  const { url } = served
  const lines = [
    `${pc.bold('Registry')} is ready at ${pc.cyan(url)}`,
    pc.dim(`  agents     GET  ${url}/v1/agents`),
    pc.dim(`  watch      GET  ${url}/v1/watch`),
    pc.dim(`  ARD        POST ${url}/search`),
    pc.dim(`  Nacos      GET  ${url}/nacos/v3/admin/ai/a2a`),
    ...(allowPrivate
      ? []
      : [pc.dim('  Agents on this machine and on private networks are rejected; --allow-private accepts them')]),
  ]
  console.log(lines.join('\n'))
  closeOnSignal(() => served.close())
}

/** Parses `ann=secret`. */
function toKey(given: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const equals = given.indexOf('=')
  const [owner, key] = [given.slice(0, equals), given.slice(equals + 1)]
  if (equals < 1 || key === '') throw new InvalidArgumentError('write it as OWNER=KEY')
  return { ...before, [key]: owner }
}

/** The options of every command that calls a registry. */
interface RegistryOptions {
  readonly registry?: string
  readonly namespace?: string
  readonly header?: Readonly<Record<string, string>>
  readonly output: Format
}

function addRegistryOptions(command: Command): Command {
  return addOutputOption(
    command
      .addOption(
        new Option('--registry <url>', 'the registry (default: a registry on this machine)').env('DRAGOMAN_REGISTRY'),
      )
      .option('-n, --namespace <name>', 'namespace of the agent (default: public)')
      .option('-H, --header <name: value>', 'HTTP header for the registry; repeatable', toHeader),
  )
}

async function withRegistry(
  options: RegistryOptions,
  work: (registry: RegistryClient, output: Output) => Promise<void>,
): Promise<void> {
  const { namespace, header } = options
  if (options.registry !== undefined && !canParseUrl(options.registry))
    throw new UsageError(`--registry: invalid URL: ${options.registry}`)
  const output = new Output(options.output)
  const registry = options.registry ?? (await findLocalRegistry())
  if (options.registry === undefined) output.note(`The registry at ${registry}:`)
  const client = registryClient(registry, {
    ...(namespace !== undefined && { namespace }),
    ...(header && { headers: header }),
  })
  await work(client, output)
}

interface ListOptions extends RegistryOptions {
  readonly skill?: string
  readonly tag?: string
  readonly includeUnhealthy?: true
  readonly limit: number
  readonly cursor?: string
}

function listCommand(): Command {
  return addRegistryOptions(
    new Command('list')
      .description('List the agents of a registry')
      .option('--skill <skill>', 'only agents with this skill: its id or its name')
      .option('--tag <tag>', 'only agents with this tag')
      .option('--include-unhealthy', 'include agents that fail their health checks')
      .option('--limit <count>', 'print at most this many agents', toPositive, 50)
      .option('--cursor <cursor>', 'continue a list that was cut off by --limit'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry list --registry http://localhost:8848
  dragoman registry list --tag travel --include-unhealthy -o json`,
    )
    .action((options: ListOptions) => printAgents(options))
}

function searchCommand(): Command {
  return addRegistryOptions(
    new Command('search')
      .description('Find agents by words of their names, tags, skills and descriptions')
      .argument('<words...>', 'words to search for, in English or Chinese')
      .option('--limit <count>', 'print at most this many agents', toPositive, 10),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry search book a flight --registry http://localhost:8848
  dragoman registry search 天气预报`,
    )
    .action((words: readonly string[], options: RegistryOptions & { readonly limit: number }) =>
      printAgents({ ...options, text: words.join(' ') }),
    )
}

async function printAgents(options: ListOptions & { readonly text?: string }): Promise<void> {
  const { text, skill, tag, limit, cursor, includeUnhealthy = false, namespace } = options
  await withRegistry(options, async (registry, output) => {
    const page = await registry.list({
      limit,
      includeUnhealthy,
      ...(namespace !== undefined && { namespace }),
      ...(text !== undefined && { text }),
      ...(skill !== undefined && { skill }),
      ...(tag !== undefined && { tag }),
      ...(cursor !== undefined && { cursor }),
    })
    output.result(page, () => output.safe(agentsText(page.agents)))
    if (page.cursor !== undefined)
      output.note(`${page.agents.length} of ${page.total} agents; continue with --cursor ${page.cursor}`)
  })
}

function agentsText(agents: readonly RegisteredAgent[]): string {
  if (agents.length === 0) return 'No agents'
  const rows = agents.map(({ namespace, name, version, instances, card }) =>
    [`${namespace}/${name}`, version, healthText(instances), card?.description ?? ''].map(oneLine),
  )
  return table([['AGENT', 'VERSION', 'HEALTH', 'DESCRIPTION'], ...rows])
}

function healthText(instances: RegisteredAgent['instances']): string {
  const states = new Map<string, number>()
  for (const { health } of instances) states.set(health.state, (states.get(health.state) ?? 0) + 1)
  return states.size === 0 ? 'no instances' : [...states].map(([state, count]) => `${count} ${state}`).join(', ')
}

interface PublishOptions extends RegistryOptions {
  readonly name?: string
  readonly tag?: readonly string[]
  readonly ttl?: number
  readonly instance?: string
}

function publishCommand(): Command {
  return addRegistryOptions(
    new Command('publish')
      .description('Publish an agent in a registry: the card that it serves, or a card in a file')
      .argument('<agent>', 'host, URL or card URL of the agent, or the path of a card')
      .option('--name <name>', 'name in the registry (default: the name on the card)')
      .option('--tag <tag>', 'tag that the agent is found by; repeatable', collect)
      .option('--instance <id>', 'id that distinguishes instances of one version (default: the URL on the card)')
      .option('--ttl <seconds>', 'withdraw the agent after this many seconds (default: never)', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry publish localhost:8001 --registry http://localhost:8848
  dragoman registry publish ./card.json --name weather --tag 天气

Agents that are served with --register publish themselves.`,
    )
    .action(async (ref: string, options: PublishOptions) => {
      await withRegistry(options, async (registry, output) => {
        // The headers are for the registry, not for the agent.
        const { raw } = await readRawCard(ref, { output: options.output }, output)
        const card = raw as { readonly name?: unknown } // the registry validates it
        const { tag, ttl, instance, name = String(card.name ?? '') } = options
        const published = await registry.publish(name, {
          card,
          ...(tag && { tags: tag }),
          ...(ttl !== undefined && { ttlSeconds: ttl }),
          ...(instance !== undefined && { instance }),
        })
        output.result(published, () =>
          output.safe(`Published ${published.namespace}/${published.name} ${published.version}`),
        )
      })
    })
}

interface WithdrawOptions extends RegistryOptions {
  readonly agentVersion?: string
  readonly instance?: string
}

function withdrawCommand(): Command {
  return addRegistryOptions(
    new Command('withdraw')
      .description('Remove an agent, one version or one instance of it from a registry')
      .argument('<name>', 'name of the agent in the registry')
      .option('--agent-version <version>', 'remove only this version')
      .option('--instance <id>', 'remove only this instance'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry withdraw weather --registry http://localhost:8848
  dragoman registry withdraw weather --agent-version 1.0.0`,
    )
    .action(async (name: string, options: WithdrawOptions) => {
      await withRegistry(options, async (registry, output) => {
        const { agentVersion, instance } = options
        const withdrawn = await registry.withdraw(name, {
          ...(agentVersion !== undefined && { version: agentVersion }),
          ...(instance !== undefined && { instance }),
        })
        output.result({ withdrawn }, () => `Withdrew ${withdrawn} ${withdrawn === 1 ? 'instance' : 'instances'}`)
      })
    })
}

interface WatchOptions extends RegistryOptions {
  readonly after?: number
  readonly name?: string
  readonly count?: number
}

function watchCommand(): Command {
  return addRegistryOptions(
    new Command('watch')
      .description('Print the events of a registry as they happen')
      .option('--after <revision>', 'start after this revision; 0 prints all present entries first', toCount)
      .option('--name <name>', 'only events of this agent')
      .option('--count <count>', 'end after this many events (default: never)', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry watch --registry http://localhost:8848
  dragoman registry watch --after 0 --count 10 -o json

With -o json the command prints one JSON line for each event, with its revision. If the stream breaks, the exit code is
3; continue with the last revision as --after.`,
    )
    .action(async (options: WatchOptions) => {
      const { after, name, namespace, count = Number.POSITIVE_INFINITY } = options
      await withRegistry(options, async (registry, output) => {
        const filter = {
          ...(after !== undefined && { after }),
          ...(name !== undefined && { name }),
          ...(namespace !== undefined && { namespace }),
        }
        let left = count
        for await (const { revision, event } of registry.watch(filter)) {
          output.chunk({ revision, ...event }, () => `${output.safe(eventText(revision, event))}\n`)
          left -= 1
          if (left <= 0) return
        }
        throw new TransportError('broken-stream', 'The registry ended the stream')
      })
    })
}

function eventText(revision: number, event: RegistryEvent): string {
  if (!('name' in event)) return `${revision} ${event.type}`
  const more = 'state' in event ? event.state : 'url' in event ? event.url : 'latest' in event ? event.latest : ''
  return oneLine(`${revision} ${event.type} ${event.namespace}/${event.name} ${more}`.trimEnd())
}
