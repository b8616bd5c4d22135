import { readFileSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { serveConsole } from '../../console/index.js'
import { toHeader } from '../agent-options.js'

interface Options {
  readonly agent?: readonly string[]
  readonly registry?: string
  readonly registryHeader?: Readonly<Record<string, string>>
  readonly workflow?: string
  readonly port: number
  readonly host: string
  readonly publicUrl?: string
}

export function consoleCommand(): Command {
  return new Command('console')
    .description('See and drive agents from a browser: talk to them, watch their tasks, look at the wire')
    .option(
      '-a, --agent <ref>',
      'an agent to begin with: a host or an address; may be repeated',
      (ref: string, before: readonly string[] = []) => [...before, ref],
    )
    .option('--registry <url>', 'a registry whose agents can be called too', toUrl)
    .option('--registry-header <name: value>', 'a header for the registry; may be repeated', toHeader)
    .option('--workflow <ref>', 'the agent whose runs the screen Workflows shows')
    .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, 8010)
    .option('--host <address>', 'address to bind; anything but loopback needs the token that is printed', '127.0.0.1')
    .option('--public-url <url>', 'the address people and webhooks use', toUrl)
    .addHelpText(
      'after',
      `
Examples:
  dragoman console --agent localhost:8001
  dragoman console --registry http://localhost:8848 --port 0
  dragoman console --host 0.0.0.0

The console calls agents that you name, and nobody else. Credentials stay in its memory until it ends.`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const { agent, registry, registryHeader, workflow, port, host, publicUrl } = options
  const served = await serveConsole({
    port,
    host,
    version,
    agents: agent ?? [],
    ...(registry && { registry }),
    ...(registryHeader && { registryHeaders: registryHeader }),
    ...(workflow && { workflow: { ref: workflow } }),
    ...(publicUrl && { publicUrl }),
  })
  console.log(`The console is ready at ${pc.cyan(served.url)}`)
  const onSignal = () => {
    served.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
}

function toUrl(value: string): string {
  if (URL.canParse(value) && /^https?:/.test(value)) return value
  throw new InvalidArgumentError('begin with http:// or https://')
}

function toPort(value: string): number {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw new InvalidArgumentError('a port is a number from 0 to 65535')
}
