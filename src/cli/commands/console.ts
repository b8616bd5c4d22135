import { Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { type ServedConsole, serveConsole } from '../../console/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { version } from '../../model/user-agent.js'
import { type AccessOptions, addSchemeOptions, readSchemes } from '../access-options.js'
import { addCertificateOptions, type CertificateOptions, keptCredentials, toHeader, toPort } from '../agent-options.js'
import { closeOnSignal } from '../close-on-signal.js'
import { UsageError } from '../usage-error.js'

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
    'See and drive agents from a browser: talk to them, watch their tasks, look at the wire',
  )
  return addCertificateOptions(addSchemeOptions(command))
    .option(
      '-a, --agent <ref>',
      'an agent to begin with: a host or an address; may be repeated',
      (ref: string, before: readonly string[] = []) => [...before, ref],
    )
    .option('--registry <url>', 'a registry whose agents can be called too', toUrl)
    .option('--registry-header <name: value>', 'a header for the registry; may be repeated', toHeader)
    .option('--workflow <ref>', 'the agent whose runs the screen Workflows shows')
    .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, 8010)
    .option(
      '--host <address>',
      'address to bind; on any but loopback people need a credential, or the token that is printed',
      '127.0.0.1',
    )
    .option('--public-url <url>', 'the address people and webhooks use', toUrl)
    .addHelpText(
      'after',
      `
Examples:
  dragoman console --agent localhost:8001
  dragoman console --registry http://localhost:8848 --port 0
  dragoman console --host 0.0.0.0
  dragoman console --host 0.0.0.0 --api-key secret --tls-cert console.pem --tls-key console.key
  dragoman console --agent https://agent.example --client-cert me.pem --client-key me.key

The console calls agents that you name, and nobody else. What is typed into it stays in its memory until it ends.

--api-key, --bearer, --oidc and --tls-client-ca are what people need to use the console: its page asks for it. The
agents of --agent are called with --client-cert and with what \`dragoman auth login\` keeps for them, whoever uses it.`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const { agent, registry, registryHeader, workflow, port, host, publicUrl } = options
  const access = await readSchemes(options)
  const credentials = await Promise.all(
    (agent ?? []).map(async (ref) => [ref, await keptCredentials(ref, options)] as const),
  )
  const served = await serveOrExplain({
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
  })
  console.log(`The console is ready at ${pc.cyan(served.url)}`)
  closeOnSignal(() => served.close())
}

/** A configuration that cannot be meant is a mistake of whoever typed it. */
async function serveOrExplain(options: Parameters<typeof serveConsole>[0]): Promise<ServedConsole> {
  try {
    return await serveConsole(options)
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error
  }
}

function toUrl(value: string): string {
  if (canParseUrl(value) && /^https?:/.test(value)) return value
  throw new InvalidArgumentError('begin with http:// or https://')
}
