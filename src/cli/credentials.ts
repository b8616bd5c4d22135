/**
 * Credentials that `dragoman auth login` stores: one for each origin, in a file that only its owner can read. They are sent
 * to that origin and to no other.
 */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  A2AError,
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type CredentialSource,
  type OAuth2Options,
  oauth2,
  type TokenStore,
} from '../client/index.js'
import { canParseUrl } from '../model/can-parse-url.js'

export type Token = Parameters<TokenStore['set']>[1]

type OAuth2Credential = { readonly kind: 'oauth2' } & Pick<
  OAuth2Options,
  'clientId' | 'clientSecret' | 'issuer' | 'flow' | 'scopes'
>

export type Credential =
  | { readonly kind: 'api-key'; readonly key: string }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | OAuth2Credential

/** A credential and the OAuth 2 tokens that it got. */
export type StoredCredential = Credential & { readonly tokens?: Readonly<Record<string, Token>> }

interface CredentialFile {
  readonly agents: Readonly<Record<string, StoredCredential>>
}

/** Path of the credential file, and the setting that determines it. */
export function credentialFile(): { readonly path: string; readonly source: string } {
  const { DRAGOMAN_CONFIG_DIR, APPDATA, XDG_CONFIG_HOME } = process.env
  const within = (folder: string, source: string) => ({ path: join(folder, 'credentials.json'), source })
  if (DRAGOMAN_CONFIG_DIR) return within(DRAGOMAN_CONFIG_DIR, 'DRAGOMAN_CONFIG_DIR')
  if (process.platform === 'win32' && APPDATA) return within(join(APPDATA, 'dragoman'), 'APPDATA')
  if (XDG_CONFIG_HOME) return within(join(XDG_CONFIG_HOME, 'dragoman'), 'XDG_CONFIG_HOME')
  return within(join(homedir(), '.config', 'dragoman'), 'default')
}

/** Reads the credentials by origin. Throws if the file is damaged, so that it is not overwritten. */
export async function readCredentials(): Promise<ReadonlyMap<string, StoredCredential>> {
  let text: string
  try {
    text = await readFile(credentialFile().path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
    throw error
  }
  try {
    const { agents } = JSON.parse(text) as CredentialFile // written below
    return new Map(Object.entries(agents))
  } catch {
    throw new Error(`The credential file ${credentialFile().path} is invalid: repair or remove it`)
  }
}

export async function storeCredential(origin: string, credential: StoredCredential): Promise<void> {
  await write(new Map([...(await readCredentials()), [origin, credential]]))
}

/** Returns false if no credential was stored. */
export async function forgetCredential(origin: string): Promise<boolean> {
  const credentials = new Map(await readCredentials())
  const isThere = credentials.delete(origin)
  if (isThere) await write(credentials)
  return isThere
}

/** A token store inside the credential file: tokens are deleted with their credential. */
export function storedTokens(origin: string): TokenStore {
  const change = async (key: string, token: Token | undefined) => {
    const credential = (await readCredentials()).get(origin)
    // The user logged out while the token was requested.
    if (!credential) return
    const { [key]: _old, ...others } = credential.tokens ?? {}
    await storeCredential(origin, { ...credential, tokens: token ? { ...others, [key]: token } : others })
  }
  return {
    get: async (key) => (await readCredentials()).get(origin)?.tokens?.[key],
    set: change,
    delete: (key) => change(key, undefined),
  }
}

/** Replaces the file atomically, so that a crash leaves the old one. */
async function write(credentials: ReadonlyMap<string, StoredCredential>): Promise<void> {
  const { path } = credentialFile()
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  const file: CredentialFile = { agents: Object.fromEntries(credentials) }
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  // `writeFile` sets the mode of new files only.
  await chmod(draft, 0o600)
  await rename(draft, path)
}

/** Connects OAuth 2 flows to the user: by a device code, or by a browser that returns to a redirect address. */
export type LoginPrompts = Pick<OAuth2Options, 'showCode' | 'open' | 'receiver'>

export function credentialSource(
  credential: StoredCredential,
  tokens: TokenStore,
  prompts: LoginPrompts,
): CredentialSource {
  if (credential.kind === 'api-key') return apiKeyCredential(credential.key)
  if (credential.kind === 'bearer') return bearerCredential(credential.token)
  if (credential.kind === 'basic') return basicCredential(credential.user, credential.password)
  const { kind: _, tokens: _stored, ...options } = credential
  return oauth2({ ...options, ...prompts, store: tokens })
}

/** Prompts for commands other than `auth login`: they fail and name the command to run. */
export function promptsForLogin(ref: string): LoginPrompts {
  const refuse = () => {
    throw new A2AError('UNAUTHENTICATED', `The login has expired; run: dragoman auth login ${ref}`)
  }
  return { showCode: refuse, open: refuse, receiver: refuse }
}

/** The origin of an agent reference. Without a scheme, loopback hosts get http and all others https. */
export function originOf(ref: string): string {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(ref) ? ref : `${isLoopback(ref) ? 'http' : 'https'}://${ref}`
  return canParseUrl(url) ? new URL(url).origin : ref
}

function isLoopback(ref: string): boolean {
  return /^(localhost|[^/]*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?([/?#]|$)/i.test(ref)
}

/** The other names of a loopback origin, because cards may use another one than the user. */
export function loopbackOrigins(origin: string): string[] {
  if (!canParseUrl(origin)) return []
  const { protocol, host, port } = new URL(origin)
  if (!isLoopback(host)) return []
  const hosts = ['localhost', '127.0.0.1', '[::1]'].map((name) => (port === '' ? name : `${name}:${port}`))
  return hosts.flatMap((each) => [`${protocol}//${each}`, `grpc://${each}`])
}
