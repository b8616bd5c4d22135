import { Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { serveConsole } from '../../console/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { version } from '../../model/user-agent.js'
import {
  addCertificateOptions,
  type CertificateOptions,
  collect,
  credentialsFor,
  toHeader,
  toPort,
} from '../agent-options.js'
import { type AccessOptions, addSchemeOptions, closeOnSignal, readSchemes, withUsageErrors } from '../server-options.js'

interface Options extends AccessOptions, CertificateOptions {
  readonly agent?: readonly string[]
  readonly registry?: string
  readonly registryHeader?: Readonly<Record<string, string>>
  readonly workflow?: string
  readonly port: number
  readonly host: string
  readonly publicUrl?: string
}

export function consoleCommand(): Command {
  const command = new Command('console').description(
    'Run the web console: call agents, follow their tasks and inspect requests and responses',
  )
  return addCertificateOptions(addSchemeOptions(command))
    .option('-a, --agent <agent>', 'host or URL of an agent to show; repeatable', collect)
    .option('--registry <url>', 'registry whose agents can be called too', toUrl)
    .option('--registry-header <name: value>', 'HTTP header for the registry; repeatable', toHeader)
    .option('--workflow <agent>', 'agent whose runs the Workflows screen shows')
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort, 8010)
    .option(
      '--host <address>',
      'address to bind; users of an address other than loopback need a credential, or the printed token',
      '127.0.0.1',
    )
    .option('--public-url <url>', 'address that browsers and webhooks use (default: the address it listens at)', toUrl)
    .addHelpText(
      'after',
      `
Examples:
  dragoman console --agent localhost:8001
  dragoman console --registry http://localhost:8848 --port 0
  dragoman console --host 0.0.0.0
  dragoman console --host 0.0.0.0 --api-key secret --tls-cert console.pem --tls-key console.key
  dragoman console --agent https://agent.example --client-cert me.pem --client-key me.key

The console calls only the agents that its users name. It keeps everything in memory until it ends.

--api-key, --bearer, --oidc and --tls-client-ca are for the users of the console; its page asks for the credential. Calls
to the agents of --agent use --client-cert and the credentials that \`dragoman auth login\` stored, for every user.`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const { agent, registry, registryHeader, workflow, port, host, publicUrl } = options
  const access = await readSchemes(options)
  const credentials = await Promise.all(
    (agent ?? []).map(async (ref) => [ref, await credentialsFor(ref, options)] as const),
  )
  const served = await withUsageErrors(() =>
    serveConsole({
      port,
      host,
      version,
      ...access,
      agents: agent ?? [],
      credentials: Object.fromEntries(credentials.filter(([, sources]) => sources.length > 0)),
      ...(registry && { registry }),
      ...(registryHeader && { registryHeaders: registryHeader }),
      ...(workflow && { workflow: { ref: workflow } }),
      ...(publicUrl && { publicUrl }),
    }),
  )
  console.log(`The console is ready at ${pc.cyan(served.url)}`)
  closeOnSignal(() => served.close())
}

function toUrl(value: string): string {
  if (canParseUrl(value) && /^https?:/.test(value)) return value
  throw new InvalidArgumentError('expected an http or https URL')
}
