/** The options of every command that talks to an agent. */

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
  type WireEntry,
} from '../client/index.js'
import { type DialectName, dialectNames, findDialect } from '../dialects/index.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { onStderr } from './colours.js'
import { authHint } from './credentials/auth-hint.js'
import { readCredentials, storedTokens } from './credentials/credential-file.js'
import { askLater, credentialSource } from './credentials/credential-source.js'
import { originOf, sameMachine } from './credentials/origin.js'
import { Advised } from './failure.js'
import { type Registry, resolversFor } from './find-agent.js'
import { readGivenFile } from './message-parts.js'
import { type Format, Output } from './output.js'
import { printable, shellWord, withoutSecrets } from './printable.js'
import { UsageError } from './usage-error.js'

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
  return addOutputOption(
    addCertificateOptions(command)
      .option('-a, --agent <ref>', 'the agent: host, URL, card URL or name; instead of the first argument')
      .addOption(
        new Option('--binding <name>', 'jsonrpc, rest or grpc (default: what the card prefers)').argParser(toBinding),
      )
      .addOption(
        new Option('--protocol <version>', 'v1, v0.3, v0.1 … (default: the newest that works)').argParser(toDialect),
      )
      .option('--pin', 'speak --binding and --protocol or fail')
      .option('-H, --header <name: value>', 'a header for every call; may be repeated', toHeader)
      .option('--timeout <seconds>', 'how long an answer may take', toSeconds)
      .option('--signed', 'refuse cards without a good signature')
      .addOption(new Option('--registry <url>', 'where names of agents are looked up').env('DRAGOMAN_REGISTRY'))
      .option('--registry-header <name: value>', 'a header for the registry; may be repeated', toHeader)
      .option('--allow-origin <origin>', 'send headers and credentials there too; * is all; may be repeated', toOrigin)
      .option('--debug', 'print what goes over the wire to stderr, secrets taken out'),
  )
}

export function addCertificateOptions(command: Command): Command {
  return command
    .option('--client-cert <path>', 'a client certificate, as PEM')
    .option('--client-key <path>', 'its key, as PEM')
}

export function addOutputOption(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'text for people, json for programs').choices(['text', 'json']).default('text'),
  )
}

/** The reference and the other arguments: `-a REF` frees the first place. */
export function splitReference(args: readonly string[], { agent }: AgentOptions): [ref: string, rest: string[]] {
  if (agent !== undefined) return [agent, [...args]]
  const [ref, ...rest] = args
  if (ref === undefined) throw new UsageError('name an agent: its host, its URL or the URL of its card')
  return [ref, rest]
}

export const refHelp = 'the agent: host, URL, card URL or name'

/** The reference and what must follow it, neither less nor more. */
export function splitWords<Needed extends readonly string[]>(
  words: readonly (string | undefined)[],
  options: AgentOptions,
  needed: readonly [...Needed],
): [ref: string, ...rest: { [K in keyof Needed]: string }] {
  const given = words.filter((word) => word !== undefined)
  const [ref, rest] = splitReference(given, options)
  const missing = needed[rest.length]
  if (missing !== undefined) throw new UsageError(`give ${missing} too`)
  if (rest.length > needed.length) throw new UsageError(`there is a word too many: ${rest[needed.length]}`)
  return [ref, ...rest] as unknown as [string, ...{ [K in keyof Needed]: string }] // counted above
}

/**
 * Runs a command against an agent, and closes the connection whatever happens. `named` is the agent as the next command
 * line has to name it.
 */
export async function withAgent(
  ref: string,
  options: AgentOptions,
  work: (agent: AgentClient, output: Output, named: string) => Promise<void>,
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
    await work(agent, output, namedAgain(ref, options))
  } catch (error) {
    const isRefused = error instanceof A2AError && error.code === 'UNAUTHENTICATED'
    const hint = isRefused ? (withheld && allowHint(withheld)) || authHint(agent.card, withoutSecrets(ref)) : undefined
    throw hint === undefined ? error : new Advised(error, hint)
  } finally {
    await agent.close()
  }
}

/** Whether `--allow-origin` sends the credentials that were withheld. */
function isAllowable(warning: ConnectWarning): warning is Extract<ConnectWarning, { code: 'credentials-withheld' }> {
  return warning.code === 'credentials-withheld' && warning.canAllow
}

function allowHint(origin: string): string {
  return `Headers and credentials are not sent to ${origin}; if it may have them: --allow-origin ${shellWord(origin)}`
}

/** The agent and the options that the next command needs too. `…` stands in for secrets: header values, passwords, queries. */
function namedAgain(ref: string, options: AgentOptions): string {
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
  const sources = await keptCredentials(ref, options)
  const headers = options.header ?? {}
  return {
    headers,
    allowedOrigins: [...sameMachine(origin), ...(options.allowOrigin ?? [])],
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

function registryIn({ registry, registryHeader = {} }: AgentOptions): Registry | undefined {
  if (registry === undefined) return undefined
  if (!canParseUrl(registry)) throw new UsageError(`--registry: invalid URL: ${withoutSecrets(registry)}`)
  return { url: registry, headers: registryHeader }
}

export type CertificateOptions = Pick<AgentOptions, 'clientCert' | 'clientKey'>

/** What there is for an agent: a certificate that was given, and what `auth login` keeps. */
export async function keptCredentials(
  ref: string,
  certificate: CertificateOptions,
): Promise<readonly CredentialSource[]> {
  const origin = originOf(ref)
  const stored = (await readCredentials()).get(origin)
  return [
    ...(certificate.clientCert === undefined ? [] : [await readCertificate(certificate)]),
    ...(stored ? [credentialSource(stored, storedTokens(origin), askLater(withoutSecrets(ref)))] : []),
  ]
}

async function readCertificate({ clientCert, clientKey }: CertificateOptions): Promise<CredentialSource> {
  if (clientCert === undefined || clientKey === undefined) throw new UsageError('--client-cert needs --client-key')
  const [cert, key] = await Promise.all(
    [clientCert, clientKey].map(async (path) => (await readGivenFile(path)).toString()),
  )
  return mutualTls({ cert: cert ?? '', key: key ?? '' })
}

/** Everything that was given as a header is a secret here, whatever its name. */
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

/** Versions may be written as people say them: `1.0`, `0.3`. */
export function toDialect(given: string): DialectName {
  const dialect = findDialect(given)
  if (dialect) return dialect.name
  throw new InvalidArgumentError(`there is no dialect ${given}: choose from ${dialectNames.join(', ')}`)
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
  throw new InvalidArgumentError('a whole number, 0 or more')
}

export function toPositive(text: string): number {
  const count = toCount(text)
  if (count > 0) return count
  throw new InvalidArgumentError('a whole number, 1 or more')
}

export function toPort(value: string): number {
  const port = Number(value)
  if (Number.isInteger(port) && port >= 0 && port < 65536) return port
  throw new InvalidArgumentError('a port is a number from 0 to 65535')
}

export function toSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('a time in seconds, above 0')
}
