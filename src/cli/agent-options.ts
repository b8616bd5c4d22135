/** Options of the commands that call an agent, and parsers of option values. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  A2AError,
  type AgentClient,
  type Binding,
  type ConnectOptions,
  type ConnectWarning,
  type CredentialSource,
  connect,
  mutualTls,
  TransportError,
  type WireEntry,
} from '../client/index.js'
import { withClientDialects } from '../dialects/client-dialects.js'
import { type DialectName, dialectNamed, dialectNames } from '../dialects/dialect.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { authHint } from './card-text.js'
import {
  credentialSource,
  loopbackOrigins,
  originOf,
  promptsForLogin,
  readCredentials,
  storedTokens,
} from './credentials.js'
import { AdvisedError, UsageError } from './failure.js'
import { readGivenFile } from './message-parts.js'
import { type Format, Output } from './output.js'
import { onStderr, printable, shellWord, withoutSecrets } from './printable.js'
import { type RegistryAddress, resolversFor } from './registry-lookup.js'

export interface AgentOptions {
  readonly agent?: string
  readonly binding?: Binding
  readonly protocol?: DialectName
  readonly pin?: true
  readonly header?: Readonly<Record<string, string>>
  readonly allowOrigin?: readonly string[]
  readonly timeout?: number
  readonly clientCert?: string
  readonly clientKey?: string
  readonly signed?: true
  readonly registry?: string
  readonly registryHeader?: Readonly<Record<string, string>>
  readonly debug?: true
  readonly output: Format
}

const bindingNames: Readonly<Record<string, Binding>> = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }

export function addAgentOptions(command: Command): Command {
  const named = addCertificateOptions(command).option('-a, --agent <ref>', 'the agent, in place of the first argument')
  return addOutputOption(addConnectionOptions(named))
}

/** The options of calls to any number of agents. */
export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--binding <name>',
        'transport: jsonrpc, rest or grpc (default: the one that the card prefers)',
      ).argParser(toBinding),
    )
    .addOption(
      new Option(
        '--protocol <version>',
        'protocol version: v1, v0.3, v0.1 … (default: the newest that works)',
      ).argParser(toDialect),
    )
    .option('--pin', 'fail if --binding and --protocol are not available, instead of choosing others')
    .option('-H, --header <name: value>', 'HTTP header for every call; repeatable', toHeader)
    .option('--timeout <seconds>', 'time limit for an answer, in seconds', toSeconds)
    .option('--signed', 'reject cards without a valid signature')
    .addOption(new Option('--registry <url>', 'registry that resolves names of agents').env('DRAGOMAN_REGISTRY'))
    .option('--registry-header <name: value>', 'HTTP header for the registry; repeatable', toHeader)
    .option(
      '--allow-origin <origin>',
      'also send headers and credentials to this origin; * allows all; repeatable',
      toOrigin,
    )
    .option('--debug', 'print requests and responses to stderr, without secrets')
}

export function addCertificateOptions(command: Command): Command {
  return command
    .option('--client-cert <path>', 'client certificate (PEM); needs --client-key')
    .option('--client-key <path>', 'private key of --client-cert (PEM)')
}

export function addOutputOption(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text'),
  )
}

export const agentHelp = 'the agent: host, URL, card URL or name in the registry'

/** The largest page of a task list that the protocol allows. */
export const maxPageSize = 100

/** Separates the agent from the other arguments. With `--agent`, all arguments are other arguments. */
export function splitAgent(args: readonly string[], { agent }: AgentOptions): [ref: string, rest: string[]] {
  if (agent !== undefined) return [agent, [...args]]
  const [ref, ...rest] = args
  if (ref === undefined) throw new UsageError('missing argument: the agent (host, URL or card URL)')
  return [ref, rest]
}

/** As `splitAgent`, for commands that need exactly the arguments that `needed` describes. */
export function requireArguments<Needed extends readonly string[]>(
  args: readonly (string | undefined)[],
  options: AgentOptions,
  needed: readonly [...Needed],
): [ref: string, ...rest: { [K in keyof Needed]: string }] {
  const given = args.filter((word) => word !== undefined)
  const [ref, rest] = splitAgent(given, options)
  const missing = needed[rest.length]
  if (missing !== undefined) throw new UsageError(`missing argument: ${missing}`)
  if (rest.length > needed.length) throw new UsageError(`unexpected argument: ${rest[needed.length]}`)
  return [ref, ...rest] as unknown as [string, ...{ [K in keyof Needed]: string }] // counted above
}

/**
 * Connects to an agent, does `work` and closes the connection. `agentArgs` are the agent and its options, as arguments of
 * the next command.
 */
export async function withAgent(
  ref: string,
  options: AgentOptions,
  work: (agent: AgentClient, output: Output, agentArgs: string) => Promise<void>,
): Promise<void> {
  const output = new Output(options.output)
  const given = await connectOptions(ref, options, output)
  let withheld: string | undefined
  const onWarning = (warning: ConnectWarning) => {
    if (isAllowable(warning)) withheld = warning.origin
    given.onWarning?.(warning)
  }
  const agent = await connect(ref, { ...given, onWarning })
  try {
    await work(agent, output, agentArgsOf(ref, options))
  } catch (error) {
    const isRefused = error instanceof A2AError && error.code === 'UNAUTHENTICATED'
    const hint = isRefused ? (withheld && allowHint(withheld)) || authHint(agent.card, withoutSecrets(ref)) : undefined
    throw hint === undefined ? error : new AdvisedError(error, hint)
  } finally {
    await agent.close()
  }
}

/** Whether `--allow-origin` sends the credentials that were withheld. */
function isAllowable(warning: ConnectWarning): warning is Extract<ConnectWarning, { code: 'credentials-withheld' }> {
  return warning.code === 'credentials-withheld' && warning.canAllow
}

function allowHint(origin: string): string {
  return `Headers and credentials are not sent to ${origin}; to allow it, pass --allow-origin ${shellWord(origin)}`
}

/** Replaces secrets with `…`: header values, passwords and queries. */
function agentArgsOf(ref: string, options: AgentOptions): string {
  const { registry, registryHeader = {}, header = {}, allowOrigin = [], clientCert, clientKey } = options
  const isKnown = registry === undefined || registry === process.env.DRAGOMAN_REGISTRY
  const words: readonly (readonly [option: string, value: string])[] = [
    ...(isKnown ? [] : [['--registry', withoutSecrets(registry)] as const]),
    ...Object.keys(registryHeader).map((name) => ['--registry-header', `${name}: …`] as const),
    ...Object.keys(header).map((name) => ['--header', `${name}: …`] as const),
    ...(clientCert === undefined ? [] : [['--client-cert', clientCert] as const]),
    ...(clientKey === undefined ? [] : [['--client-key', clientKey] as const]),
    ...allowOrigin.map((origin) => ['--allow-origin', origin] as const),
  ]
  return [shellWord(withoutSecrets(ref)), ...words.map(([option, value]) => `${option} ${shellWord(value)}`)].join(' ')
}

export async function connectOptions(ref: string, options: AgentOptions, output: Output): Promise<ConnectOptions> {
  const origin = originOf(ref)
  const sources = await credentialsFor(ref, options)
  const headers = options.header ?? {}
  return {
    headers,
    allowedOrigins: [...loopbackOrigins(origin), ...(options.allowOrigin ?? [])],
    ...(sources.length > 0 && { credentials: sources }),
    ...(options.signed && { signatures: 'require' }),
    resolvers: resolversFor(registryIn(options)),
    onWarning: (warning) => output.warning(isAllowable(warning) ? allowHint(warning.origin) : warning.message),
    ...(options.binding && { binding: options.binding }),
    ...(options.protocol && { dialect: options.protocol }),
    ...(options.pin && { pin: true }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
    ...(options.debug && { onWire: (entry) => printWire(entry, headers) }),
  }
}

function registryIn({ registry, registryHeader = {} }: AgentOptions): RegistryAddress | undefined {
  if (registry === undefined) return undefined
  if (!canParseUrl(registry)) throw new UsageError(`--registry: invalid URL: ${withoutSecrets(registry)}`)
  return { url: registry, headers: registryHeader }
}

export type CertificateOptions = Pick<AgentOptions, 'clientCert' | 'clientKey'>

/** The given client certificate, and the credential that `auth login` stored for the agent. */
export async function credentialsFor(
  ref: string,
  certificate: CertificateOptions,
): Promise<readonly CredentialSource[]> {
  const origin = originOf(ref)
  const stored = (await readCredentials()).get(origin)
  return [
    ...(certificate.clientCert === undefined ? [] : [await readCertificate(certificate)]),
    ...(stored ? [credentialSource(stored, storedTokens(origin), promptsForLogin(withoutSecrets(ref)))] : []),
  ]
}

async function readCertificate({ clientCert, clientKey }: CertificateOptions): Promise<CredentialSource> {
  if (clientCert === undefined || clientKey === undefined) throw new UsageError('--client-cert needs --client-key')
  const [cert, key] = await Promise.all(
    [clientCert, clientKey].map(async (path) => (await readGivenFile(path)).toString()),
  )
  return mutualTls({ cert: cert ?? '', key: key ?? '' })
}

/** Redacts the value of every given header. */
function printWire(entry: WireEntry, secrets: Readonly<Record<string, string>>): void {
  const { direction, binding, what, status, headers = {}, body, ms } = entry
  const values = Object.values(secrets).filter((value) => value !== '')
  const clean = (text: string) => printable(values.reduce((left, value) => left.replaceAll(value, '[redacted]'), text))
  const arrow = direction === 'request' ? '→' : '←'
  const facts = [status, ms !== undefined && `${Math.round(ms)} ms`].filter(Boolean).join(', ')
  const lines = [`${onStderr.cyan(arrow)} ${binding} ${clean(what)} ${onStderr.dim(facts)}`]
  for (const [name, value] of Object.entries(headers)) lines.push(onStderr.dim(`    ${name}: ${clean(value)}`))
  if (body !== undefined) lines.push(`    ${clean(typeof body === 'string' ? body.trimEnd() : JSON.stringify(body))}`)
  process.stderr.write(`${lines.join('\n')}\n`)
}

export function toBinding(name: string): Binding {
  const binding = bindingNames[name.toLowerCase()] ?? Object.values(bindingNames).find((each) => each === name)
  if (binding) return binding
  throw new InvalidArgumentError(`choose from ${Object.keys(bindingNames).join(', ')}`)
}

/** Accepts `1.0` and `0.3` for `v1` and `v0.3`. */
export function toDialect(given: string): DialectName {
  const dialect = dialectNamed(given, withClientDialects().outlines.values())
  if (dialect) return dialect.name
  throw new InvalidArgumentError(`unknown dialect ${given}: choose from ${dialectNames.join(', ')}`)
}

function toOrigin(text: string, before: readonly string[] = []): readonly string[] {
  if (text !== '*' && !canParseUrl(text)) throw new InvalidArgumentError('write it as https://host:port')
  return [...before, text]
}

export function toHeader(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const colon = text.indexOf(':')
  const name = text.slice(0, colon)
  // Not an `InvalidArgumentError`: its message would repeat the value, which is a secret.
  if (colon < 1 || /\s/.test(name) || /[\r\n]/.test(text)) throw new UsageError('write headers as "Name: value"')
  return { ...before, [name]: text.slice(colon + 1).trimStart() }
}

export function toCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 0 && text.trim() !== '') return count
  throw new InvalidArgumentError('expected a whole number, 0 or more')
}

export function toPositive(text: string): number {
  const count = toCount(text)
  if (count > 0) return count
  throw new InvalidArgumentError('expected a whole number, 1 or more')
}

export function toPort(value: string): number {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw new InvalidArgumentError('expected a port from 0 to 65535')
}

export function toSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('expected a number of seconds above 0')
}

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Aborts `work` after this many seconds; without a number there is no limit. */
export async function withDeadline<T>(
  seconds: number | undefined,
  work: (options: { readonly signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  if (seconds === undefined) return await work({})
  const signal = AbortSignal.timeout(seconds * 1000)
  try {
    return await work({ signal })
  } catch (cause) {
    if (!signal.aborted) throw cause
    throw new TransportError('timeout', `No answer within ${seconds} s`, { cause })
  }
}
