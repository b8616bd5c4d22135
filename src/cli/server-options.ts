/** Options of commands that start a server: authentication, TLS, allowed hosts. Also how those commands end. */
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Command } from 'commander'
import { type AuthScheme, apiKey, bearer, mtls, oidc } from '../auth/index.js'
import type { ServeOptions } from '../index.js'
import { MissingOptionError } from '../model/option-names.js'
import type { AdvancedOptions } from '../server/index.js'
import { collect } from './agent-options.js'
import { UsageError } from './failure.js'

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
  readonly protectCard?: boolean
}

const schemeOptions = '--api-key, --bearer, --oidc or --tls-client-ca'

export const allowWebhookHelp = 'allow webhooks on this host, also over http and on private networks; repeatable'

export function addAccessOptions(command: Command): Command {
  return addSchemeOptions(command)
    .option('--no-auth', 'accept calls without credentials, also from other machines')
    .option(
      '--allow-host <name>',
      'accept this name in the Host header, beside localhost and the host of --public-url; repeatable',
      collect,
    )
}

/** Without `--no-auth`: the console always requires a credential or a token. */
export function addSchemeOptions(command: Command): Command {
  return command
    .option('--api-key <key>', 'accept callers that send this key in X-API-Key')
    .option('--bearer <token>', 'accept callers that send this token as Authorization: Bearer')
    .option('--oidc <issuer>', 'accept tokens of this OpenID provider; needs --audience')
    .option('--audience <name>', 'audience that tokens of --oidc must have')
    .option('--tls-cert <file>', 'TLS certificate (PEM); needs --tls-key')
    .option('--tls-key <file>', 'private key of --tls-cert (PEM)')
    .option(
      '--tls-client-ca <file>',
      'accept client certificates of this certificate authority (PEM); needs --tls-cert',
    )
}

export async function readAccess(
  options: AccessOptions,
): Promise<Pick<ServeOptions, 'auth' | 'tls'> & Pick<AdvancedOptions, 'allowedHosts'>> {
  const { auth: schemes, tls } = await readSchemes(options)
  if (options.auth === false && schemes)
    throw new UsageError('--no-auth contradicts the other authentication options: leave one out')
  if (options.protectCard && !schemes) throw new UsageError(`--protect-card needs ${schemeOptions}`)
  const auth = options.auth === false ? 'none' : schemes
  return {
    ...(auth && { auth }),
    ...(tls && { tls }),
    ...(options.allowHost && { allowedHosts: options.allowHost }),
  }
}

export async function readSchemes(
  options: AccessOptions,
): Promise<{ readonly auth?: readonly AuthScheme[] } & Pick<ServeOptions, 'tls'>> {
  const auth = schemesOf(options)
  const tls = await readTls(options)
  return { ...(auth.length > 0 && { auth }), ...(tls && { tls }) }
}

function schemesOf({ apiKey: key, bearer: token, oidc: issuer, audience, tlsClientCa }: AccessOptions) {
  if (issuer === undefined && audience !== undefined) throw new UsageError('--audience needs --oidc')
  if (issuer !== undefined && audience === undefined)
    throw new UsageError('--oidc needs --audience: otherwise tokens for other services would be accepted')
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
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('give both --tls-cert and --tls-key, or neither')
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
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new UsageError(`--tls-cert, --tls-key: invalid certificate or key (${reason})`, { cause })
  }
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`cannot read ${file}`, { cause })
  }
}

/** Reports invalid options of the library (`TypeError`) as invalid options of the command. */
export async function withUsageErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MissingOptionError && error.option === 'auth')
      throw new UsageError(`${error.reason}: pass ${schemeOptions}, or --no-auth`)
    throw error instanceof TypeError ? new UsageError(error.message) : error
  }
}

/** Closes the server at the first SIGINT or SIGTERM; the second ends the process at once. */
export function closeOnSignal(close: () => Promise<void>): void {
  let signals = 0
  const onSignal = () => {
    signals += 1
    if (signals > 1) process.exit(1)
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('dragoman: could not close cleanly:', error)
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}
