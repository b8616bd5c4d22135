/**
 * Credentials that `dragoman auth login` keeps: one for each agent, by its origin, in a file that only its
 * owner may read. They are sent to that origin and to no other.
 */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { OAuth2Options, TokenStore } from '../../client/index.js'

export type Token = Parameters<TokenStore['set']>[1]

export type OAuth2Credential = { readonly kind: 'oauth2' } & Pick<
  OAuth2Options,
  'clientId' | 'clientSecret' | 'issuer' | 'flow' | 'scopes'
>

export type Credential =
  | { readonly kind: 'api-key'; readonly key: string }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | OAuth2Credential

/** With the tokens that were got by it. */
export type StoredCredential = Credential & { readonly tokens?: Readonly<Record<string, Token>> }

interface CredentialFile {
  readonly agents: Readonly<Record<string, StoredCredential>>
}

/** Where they are kept, and who says so. */
export function credentialPlace(): { readonly path: string; readonly source: string } {
  const { DRAGOMAN_CONFIG_DIR, APPDATA, XDG_CONFIG_HOME } = process.env
  const within = (folder: string, source: string) => ({ path: join(folder, 'credentials.json'), source })
  if (DRAGOMAN_CONFIG_DIR) return within(DRAGOMAN_CONFIG_DIR, 'DRAGOMAN_CONFIG_DIR')
  if (process.platform === 'win32' && APPDATA) return within(join(APPDATA, 'dragoman'), 'APPDATA')
  if (XDG_CONFIG_HOME) return within(join(XDG_CONFIG_HOME, 'dragoman'), 'XDG_CONFIG_HOME')
  return within(join(homedir(), '.config', 'dragoman'), 'default')
}

export function credentialPath(): string {
  return credentialPlace().path
}

/** By origin. A file that cannot be understood is said to be so, not overwritten. */
export async function readCredentials(): Promise<ReadonlyMap<string, StoredCredential>> {
  let text: string
  try {
    text = await readFile(credentialPath(), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
    throw error
  }
  try {
    const { agents } = JSON.parse(text) as CredentialFile // nobody else writes it
    return new Map(Object.entries(agents))
  } catch {
    throw new Error(`${credentialPath()} is not what dragoman wrote: repair or remove it`)
  }
}

export async function storeCredential(origin: string, credential: StoredCredential): Promise<void> {
  await write(new Map([...(await readCredentials()), [origin, credential]]))
}

/** Whether there was one. */
export async function forgetCredential(origin: string): Promise<boolean> {
  const credentials = new Map(await readCredentials())
  const isThere = credentials.delete(origin)
  if (isThere) await write(credentials)
  return isThere
}

/** Tokens beside the credential they were got by; both go together. */
export function storedTokens(origin: string): TokenStore {
  const change = async (key: string, token: Token | undefined) => {
    const credential = (await readCredentials()).get(origin)
    // Somebody has logged out meanwhile.
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

/** Whole or not at all: a crash leaves the old file. */
async function write(credentials: ReadonlyMap<string, StoredCredential>): Promise<void> {
  await mkdir(dirname(credentialPath()), { recursive: true, mode: 0o700 })
  const draft = `${credentialPath()}.${process.pid}`
  const file: CredentialFile = { agents: Object.fromEntries(credentials) }
  await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  // The mode above counts only for a new file.
  await chmod(draft, 0o600)
  await rename(draft, credentialPath())
}
