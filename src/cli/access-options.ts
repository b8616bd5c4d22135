/** Who may call what is served from the command line, an agent or the console, and how the port is secured. */
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Command } from 'commander'
import { type Auth, apiKey, bearer, mtls, oidc } from '../auth/index.js'
import type { ServeOptions } from '../index.js'
import { UsageError } from './usage-error.js'

export interface AccessOptions {
  readonly apiKey?: string
  readonly bearer?: string
  readonly oidc?: string
  readonly audience?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly tlsClientCa?: string
  readonly allowHost?: readonly string[]
  /** False with `--no-auth`. */
  readonly auth?: boolean
}

export function addAccessOptions(command: Command): Command {
  return addSchemeOptions(command)
    .option('--no-auth', 'let anybody call, also from other machines')
    .option(
      '--allow-host <name>',
      'a name that requests may have in Host, beside localhost and --public-url; may be repeated',
      (name: string, before: readonly string[] = []) => [...before, name],
    )
}

/** For what is never for everybody. */
export function addSchemeOptions(command: Command): Command {
  return command
    .option('--api-key <key>', 'let callers in that send this key in X-API-Key')
    .option('--bearer <token>', 'let callers in that send this token as Authorization: Bearer')
    .option('--oidc <issuer>', 'let callers in with tokens of this OpenID provider; needs --audience')
    .option('--audience <name>', 'what tokens of --oidc must be for: this agent, as the provider calls it')
    .option('--tls-cert <file>', 'speak TLS with this certificate (PEM); needs --tls-key')
    .option('--tls-key <file>', 'the key of --tls-cert (PEM)')
    .option(
      '--tls-client-ca <file>',
      'let callers in with client certificates of this authority (PEM); needs --tls-cert',
    )
}

export async function readAccess(options: AccessOptions): Promise<Pick<ServeOptions, 'auth' | 'tls' | 'allowedHosts'>> {
  const { auth: schemes, tls } = await readSchemes(options)
  if (options.auth === false && schemes) throw new UsageError('--no-auth contradicts the other options: leave one out')
  const auth = options.auth === false ? 'none' : schemes
  return {
    ...(auth && { auth }),
    ...(tls && { tls }),
    ...(options.allowHost && { allowedHosts: options.allowHost }),
  }
}

export async function readSchemes(
  options: AccessOptions,
): Promise<{ readonly auth?: Auth } & Pick<ServeOptions, 'tls'>> {
  const auth = schemesOf(options)
  const tls = await readTls(options)
  return { ...(auth.length > 0 && { auth }), ...(tls && { tls }) }
}

function schemesOf({ apiKey: key, bearer: token, oidc: issuer, audience, tlsClientCa }: AccessOptions): Auth {
  if (issuer === undefined && audience !== undefined)
    throw new UsageError('--audience says what tokens of --oidc are for: give both')
  if (issuer !== undefined && audience === undefined)
    throw new UsageError('--oidc needs --audience: without it, tokens for other services would be good here')
  try {
    return [
      ...(key !== undefined ? [apiKey(key)] : []),
      ...(token !== undefined ? [bearer(token)] : []),
      ...(issuer !== undefined && audience !== undefined ? [oidc(issuer, { audience })] : []),
      ...(tlsClientCa !== undefined ? [mtls()] : []),
    ]
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error
  }
}

async function readTls({ tlsCert, tlsKey, tlsClientCa }: AccessOptions): Promise<ServeOptions['tls']> {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError('--tls-cert and --tls-key go together')
  if (tlsCert === undefined || tlsKey === undefined) {
    if (tlsClientCa !== undefined) throw new UsageError('--tls-client-ca needs --tls-cert and --tls-key')
    return undefined
  }
  const tls = {
    cert: await readPem(tlsCert),
    key: await readPem(tlsKey),
    ...(tlsClientCa !== undefined && { ca: await readPem(tlsClientCa) }),
  }
  try {
    createSecureContext(tls)
    return tls
  } catch (cause) {
    throw new UsageError(`--tls-cert, --tls-key: no certificate with its key (${messageOf(cause)})`, { cause })
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read`, { cause })
  }
}
