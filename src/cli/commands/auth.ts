import { spawn } from 'node:child_process'
import { Command, Option } from 'commander'
import {
  A2AError,
  type AgentCard,
  type ConnectOptions,
  connect,
  createTokenStore,
  type OAuth2Options,
  type TokenStore,
} from '../../client/index.js'
import { listenForRedirect } from '../../net/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  addOutputOption,
  agentHelp,
  collect,
  connectOptions,
  requireArguments,
} from '../agent-options.js'
import { requiredSchemesText } from '../card-text.js'
import {
  type Credential,
  credentialSource,
  forgetCredential,
  type LoginPrompts,
  originOf,
  readCredentials,
  type StoredCredential,
  storeCredential,
  type Token,
} from '../credentials.js'
import { AdvisedError, UsageError } from '../failure.js'
import { readStdin } from '../message-parts.js'
import { type Format, Output } from '../output.js'
import { oneLine, table } from '../printable.js'

export function authCommand(): Command {
  const command = new Command('auth').description('Store, list and delete credentials for agents')
  for (const create of [loginCommand, logoutCommand, statusCommand]) command.addCommand(create())
  return command
}

interface LoginOptions extends AgentOptions, CredentialOptions {
  readonly check: boolean
}

function loginCommand(): Command {
  const command = new Command('login')
    .description('Store a credential for an agent; later calls to the agent’s origin send it')
    .argument('[agent]', agentHelp)
  return addAgentOptions(addCredentialOptions(command))
    .option('--no-check', 'store the credential without testing it')
    .addHelpText(
      'after',
      `
Examples:
  dragoman auth login agent.example
  pass show agent | dragoman auth login agent.example --bearer -
  dragoman auth login agent.example --client-id cli --issuer https://login.example --flow device

Without a credential option the command asks for one. Other users of this machine can read command lines: let the
command ask, or pass secrets on stdin.`,
    )
    .action(async (first: string | undefined, options: LoginOptions) => {
      const [ref] = requireArguments([first], options, [])
      const output = new Output(options.output)
      const origin = originOf(ref)
      const { credentials: _stored, ...connecting } = await connectOptions(ref, options, output)
      const card = await readCard(ref, connecting)
      const credential = (await readCredentialOptions(options)) ?? (await askCredential(card))
      const { store, tokens } = recordTokens()
      if (options.check) {
        const source = credentialSource(credential, store, terminalPrompts(output))
        await output.withSpinner('Testing', check(ref, { ...connecting, credentials: source }))
      }
      await storeCredential(origin, { ...credential, ...(tokens.size > 0 && { tokens: Object.fromEntries(tokens) }) })
      output.result({ origin, kind: credential.kind }, () => `Stored a credential (${credential.kind}) for ${origin}`)
    })
}

/** A token store that also records its tokens, so that they are stored with the credential. */
function recordTokens(): { readonly store: TokenStore; readonly tokens: ReadonlyMap<string, Token> } {
  const tokens = new Map<string, Token>()
  const memory = createTokenStore()
  const store: TokenStore = {
    ...memory,
    set(key, token) {
      tokens.set(key, token)
      return memory.set(key, token)
    },
  }
  return { store, tokens }
}

/** Returns undefined if the agent protects its card. */
async function readCard(ref: string, options: ConnectOptions): Promise<AgentCard | undefined> {
  try {
    const agent = await connect(ref, options)
    await agent.close()
    return agent.card
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** Makes a call that changes nothing. Only a refused credential is a failure: agents need not support task lists. */
async function check(ref: string, options: ConnectOptions): Promise<void> {
  let card: AgentCard | undefined
  try {
    await using agent = await connect(ref, { ...options, onWarning: () => {} })
    card = agent.card
    await agent.listTasks({ pageSize: 1 })
  } catch (error) {
    if (isRefusal(error)) {
      const required = card && requiredSchemesText(card)
      throw new AdvisedError(
        error,
        `Check the credential; it was not stored.${required ? ` The agent requires ${required}` : ''}`,
      )
    }
    // Without a card there is no agent to store a credential for.
    if (!(error instanceof A2AError) || !card) throw error
  }
}

function isRefusal(error: unknown): error is A2AError {
  return error instanceof A2AError && (error.code === 'UNAUTHENTICATED' || error.code === 'PERMISSION_DENIED')
}

interface CredentialOptions {
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

function addCredentialOptions(command: Command): Command {
  return command
    .option('--api-key <key>', 'API key, sent as the card requires; - reads it from stdin, also for the secrets below')
    .option('--bearer <token>', 'bearer token')
    .option('--basic <user:password>', 'user name and password')
    .option('--client-id <id>', 'OAuth 2 or OpenID Connect client; the command gets and renews tokens')
    .option('--client-secret <secret>', 'secret of that client, if it has one')
    .option('--issuer <url>', 'authorization server (default: the one on the card, if it has the agent’s host)')
    .addOption(
      new Option('--flow <flow>', 'how to get tokens (default: from the card)').choices(Object.keys(flowNames)),
    )
    .option('--scope <scope>', 'scope to request; repeatable (default: the scopes on the card)', collect)
}

/** Returns undefined if no credential option was given. */
async function readCredentialOptions(given: CredentialOptions): Promise<Credential | undefined> {
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

async function askCredential(card: AgentCard | undefined): Promise<Credential> {
  if (process.stdin.isTTY !== true) throw new UsageError('give --api-key, --bearer, --basic or --client-id')
  const { isCancel, password, select, text } = await import('@clack/prompts')
  const output = process.stderr
  const answered = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new UsageError('cancelled: nothing was stored')
    return answer as Exclude<T, symbol> // the only symbol there is
  }
  const kind = answered(
    await select<Credential['kind']>({
      message: 'Which kind of credential?',
      output,
      options: [
        { value: 'api-key', label: 'API key' },
        { value: 'bearer', label: 'Bearer token' },
        { value: 'basic', label: 'User name and password' },
        { value: 'oauth2', label: 'Client id (OAuth 2, OpenID Connect)' },
      ],
      initialValue: defaultKind(card),
    }),
  )
  const validate = (typed: string | undefined) => (typed ? undefined : 'Required')
  const ask = async (message: string) => answered(await text({ message, output, validate }))
  const askSecret = async (message: string) => answered(await password({ message, output, validate }))
  if (kind === 'api-key') return { kind, key: await askSecret('API key') }
  if (kind === 'bearer') return { kind, token: await askSecret('Token') }
  if (kind === 'basic') return { kind, user: await ask('User'), password: await askSecret('Password') }
  return { kind, clientId: await ask('Client id') }
}

/** The kind of the card's first scheme. */
function defaultKind(card: AgentCard | undefined): Credential['kind'] {
  for (const scheme of Object.values(card?.securitySchemes ?? {})) {
    if ('apiKeySecurityScheme' in scheme) return 'api-key'
    if ('oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme) return 'oauth2'
    if ('httpAuthSecurityScheme' in scheme)
      return scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'basic' ? 'basic' : 'bearer'
  }
  return 'bearer'
}

/** Shows the device code on the terminal, or opens a browser that returns to a port of this machine. */
function terminalPrompts(output: Output): LoginPrompts {
  return {
    showCode({ userCode, verificationUri, verificationUriComplete }) {
      output.announce(`Open ${oneLine(verificationUri)} and enter the code ${oneLine(userCode)}`)
      if (verificationUriComplete !== undefined) output.announce(`Or open ${oneLine(verificationUriComplete)}`)
    },
    open(url) {
      output.announce(`Log in here, if no browser opens: ${oneLine(url)}`)
      openBrowser(url)
    },
    receiver: () => listenForRedirect(),
  }
}

/** Passes the URL as an argument, so that no shell interprets it. */
function openBrowser(url: string): void {
  if (!/^https?:\/\//i.test(url) || !process.stderr.isTTY) return
  const { platform } = process
  const [command, ...args] =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url]
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {}) // the URL was printed
  child.unref()
}

function logoutCommand(): Command {
  return addOutputOption(
    new Command('logout').description('Delete the stored credentials of an agent').argument('<agent>', agentHelp),
  )
    .addHelpText('after', '\nExample:\n  dragoman auth logout agent.example')
    .action(async (ref: string, options: { readonly output: Format }) => {
      const origin = originOf(ref)
      const wasThere = await forgetCredential(origin)
      new Output(options.output).result({ origin, wasThere }, () =>
        wasThere ? `Deleted the credentials for ${origin}` : `No credentials are stored for ${origin}`,
      )
    })
}

function statusCommand(): Command {
  return addOutputOption(
    new Command('status')
      .description('List the origins that credentials are stored for, without the secrets')
      .argument('[agent]', `${agentHelp} (default: all)`),
  )
    .addHelpText('after', '\nExample:\n  dragoman auth status')
    .action(async (ref: string | undefined, options: { readonly output: Format }) => {
      const stored = [...(await readCredentials())].filter(([origin]) => ref === undefined || origin === originOf(ref))
      const credentials = stored.map(([origin, credential]) => ({
        origin,
        kind: credential.kind,
        ...facts(credential),
      }))
      new Output(options.output).result({ credentials }, () =>
        credentials.length === 0
          ? `No credentials${ref === undefined ? '' : ` for ${originOf(ref)}`}`
          : table(credentials.map(({ origin, kind, ...rest }) => [origin, kind, Object.values(rest).join(', ')])),
      )
    })
}

/** The members that are not secret. */
function facts(credential: StoredCredential): Readonly<Record<string, string>> {
  if (credential.kind === 'basic') return { user: credential.user }
  if (credential.kind !== 'oauth2') return {}
  const ends = Object.values(credential.tokens ?? {}).map(({ expiresAtMs }) => expiresAtMs)
  const [end] = ends
  return {
    clientId: credential.clientId,
    token:
      ends.length === 0
        ? 'no token yet'
        : end === undefined
          ? 'has a token'
          : `token expires at ${new Date(end).toISOString()}`,
  }
}
