import { Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { apiKey } from '../../../auth/index.js'
import { serveRegistry } from '../../../registry/index.js'
import { type AccessOptions, addAccessOptions, readAccess } from '../../access-options.js'
import { toPort } from '../../agent-options.js'
import { closeOnSignal } from '../../close-on-signal.js'
import { registryPort } from '../../local-registry.js'
import { UsageError } from '../../usage-error.js'

interface Options extends AccessOptions {
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

export function serveCommand(): Command {
  return addAccessOptions(
    new Command('serve')
      .description('Run a registry: its own API, ARD 0.9 and the A2A API of Nacos 3 on one port')
      .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, registryPort)
      .option(
        '--host <address>',
        'address to bind; anything but loopback needs callers to be known, or --no-auth',
        '127.0.0.1',
      )
      .option('--store <store>', 'memory, sqlite:PATH, or postgres://USER@HOST/DATABASE', 'memory')
      .option('--owner-key <owner=key>', 'who may publish, by the key in X-API-Key; may be repeated', toKey)
      .option('--public-read', 'let anybody look agents up, although publishing needs a key')
      .option('--public-url <url>', 'the address clients use, for catalogs')
      .option('--allow-private', 'take agents on private networks and on this machine')
      .option('--no-probes', 'do not look whether agents work')
      .option('--any-card', 'take cards that can be read, although they are not valid'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry serve --allow-private
  dragoman registry serve --store sqlite:registry.sqlite --owner-key ann=secret --public-read
  dragoman serve --echo --register http://localhost:8848`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const { port, host, store, publicUrl, publicRead = false, allowPrivate = false } = options
  const { auth, ...access } = await readAccess(options)
  const known = options.ownerKey ? [apiKey(options.ownerKey), ...(Array.isArray(auth) ? auth : [])] : auth
  if (options.ownerKey && auth === 'none') throw new UsageError('--no-auth contradicts --owner-key: leave one out')
  const served = await explained(() =>
    serveRegistry({
      ...{ port, host, store, publicRead, allowPrivate },
      ...(publicUrl !== undefined && { publicUrl }),
      ...(known && { auth: known }),
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
      : [pc.dim('  Agents on this machine and on private networks are refused: --allow-private takes them')]),
  ]
  console.log(lines.join('\n'))
  closeOnSignal(() => served.close())
}

/** A configuration that cannot be meant is a mistake of whoever typed it. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(
      error.message.replace(/give `auth`, or say `auth: 'none'`/, 'give --api-key, or say --no-auth'),
    )
  }
}

/** `ann=secret` */
function toKey(given: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const place = given.indexOf('=')
  const [owner, key] = [given.slice(0, place), given.slice(place + 1)]
  if (place < 1 || key === '') throw new InvalidArgumentError('write it as OWNER=KEY')
  return { ...before, [key]: owner }
}
