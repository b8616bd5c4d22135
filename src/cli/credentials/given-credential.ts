/** The credential to keep: as it was typed, read from stdin, or answered on a terminal. */
import { type Command, Option } from 'commander'
import type { AgentCard, OAuth2Options } from '../../client/index.js'
import { readStdin } from '../message-parts.js'
import { UsageError } from '../usage-error.js'
import type { Credential } from './credential-file.js'

export interface GivenCredential {
  readonly apiKey?: string
  readonly bearer?: string
  readonly basic?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly issuer?: string
  readonly flow?: keyof typeof flowNames
  readonly scope?: readonly string[]
}

const flowNames = {
  client: 'clientCredentials',
  device: 'deviceCode',
  browser: 'authorizationCode',
} as const satisfies Record<string, OAuth2Options['flow']>

export function addCredentialOptions(command: Command): Command {
  return command
    .option('--api-key <key>', 'an API key, sent where the card wants it; - reads it from stdin, like all secrets here')
    .option('--bearer <token>', 'a token')
    .option('--basic <user:password>', 'a user and a password')
    .option('--client-id <id>', 'OAuth 2 or OpenID Connect: get tokens as this client, and new ones when they end')
    .option('--client-secret <secret>', 'of that client, if it has one')
    .option('--issuer <url>', 'the authorization server (default: the card’s, where it is at the agent’s own host)')
    .addOption(new Option('--flow <flow>', 'how to get tokens').choices(Object.keys(flowNames)))
    .option('--scope <scope>', 'may be repeated (default: what the card asks for)', (scope, before: string[] = []) => [
      ...before,
      scope,
    ])
}

/** Absent when nothing was typed. */
export async function readGiven(given: GivenCredential): Promise<Credential | undefined> {
  const { apiKey, bearer, basic, clientId } = given
  if ([apiKey, bearer, basic, clientId].filter((each) => each !== undefined).length > 1)
    throw new UsageError('choose one of --api-key, --bearer, --basic and --client-id')
  if (apiKey !== undefined) return { kind: 'api-key', key: await secret(apiKey) }
  if (bearer !== undefined) return { kind: 'bearer', token: await secret(bearer) }
  if (basic !== undefined) return toBasic(await secret(basic))
  if (clientId === undefined) return undefined
  const { clientSecret, issuer, flow, scope } = given
  return {
    kind: 'oauth2',
    clientId,
    ...(clientSecret !== undefined && { clientSecret: await secret(clientSecret) }),
    ...(issuer !== undefined && { issuer }),
    ...(flow && { flow: flowNames[flow] }),
    ...(scope && { scopes: scope }),
  }
}

async function secret(given: string): Promise<string> {
  const value = given === '-' ? (await readStdin()).toString('utf8').replace(/\r?\n$/, '') : given
  if (value === '') throw new UsageError('the credential is empty')
  return value
}

function toBasic(given: string): Credential {
  const [, user, password] = /^([^:]+):([\s\S]*)$/.exec(given) ?? []
  if (user === undefined || password === undefined) throw new UsageError('write --basic as user:password')
  return { kind: 'basic', user, password }
}

export async function askCredential(card: AgentCard | undefined): Promise<Credential> {
  if (process.stdin.isTTY !== true) throw new UsageError('give --api-key, --bearer, --basic or --client-id')
  const { isCancel, password, select, text } = await import('@clack/prompts')
  const output = process.stderr
  const answered = <T>(said: T): Exclude<T, symbol> => {
    if (isCancel(said)) throw new UsageError('nothing was kept')
    return said as Exclude<T, symbol> // the only symbol there is
  }
  const kind = answered(
    await select<Credential['kind']>({
      message: 'What do you have?',
      output,
      options: [
        { value: 'api-key', label: 'An API key' },
        { value: 'bearer', label: 'A token' },
        { value: 'basic', label: 'A user and a password' },
        { value: 'oauth2', label: 'A client id (OAuth 2, OpenID Connect)' },
      ],
      initialValue: usualKind(card),
    }),
  )
  const needed = (typed: string | undefined) => (typed ? undefined : 'This is needed')
  const ask = async (message: string) => answered(await text({ message, output, validate: needed }))
  const askSecret = async (message: string) => answered(await password({ message, output, validate: needed }))
  if (kind === 'api-key') return { kind, key: await askSecret('API key') }
  if (kind === 'bearer') return { kind, token: await askSecret('Token') }
  if (kind === 'basic') return { kind, user: await ask('User'), password: await askSecret('Password') }
  return { kind, clientId: await ask('Client id') }
}

/** What the card speaks of first. */
function usualKind(card: AgentCard | undefined): Credential['kind'] {
  for (const scheme of Object.values(card?.securitySchemes ?? {})) {
    if ('apiKeySecurityScheme' in scheme) return 'api-key'
    if ('oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme) return 'oauth2'
    if ('httpAuthSecurityScheme' in scheme)
      return scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'basic' ? 'basic' : 'bearer'
  }
  return 'bearer'
}
