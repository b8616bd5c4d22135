/** Reads and writes key files. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import type { PublicKey } from '../client/index.js'
import type { KeyMaterial } from '../server/index.js'
import { UsageError } from './failure.js'

/** Reads a private key, as JWK or PEM. Warns if other users can read the file. */
export async function readSigningKey(path: string, warn: (warning: string) => void): Promise<KeyMaterial> {
  const text = await readText(path)
  // Windows has no file modes.
  const isOpen = process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0
  if (isOpen) warn(`other users can read the key in ${path}; run chmod 600 ${path}`)
  return text.trimStart().startsWith('{') ? (parse(text, path) as KeyMaterial) : text // validated when it is loaded
}

/** Reads public keys: a JWK or a JWK set. */
export async function readTrustedKeys(path: string): Promise<PublicKey> {
  const keys = parse(await readText(path), path)
  if (typeof keys === 'object' && keys !== null) return keys as PublicKey // validated when it is used
  throw new UsageError(`${path} is not a JWK or a JWK set`)
}

/** Creates a file that only its owner can read. Never overwrites: the existing file may be a key in use. */
export async function writeSigningKey(path: string, key: object): Promise<void> {
  try {
    await writeFile(path, `${JSON.stringify(key, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new UsageError(`${path} exists; choose another file, or remove it`)
    throw new UsageError(`cannot write ${path}: ${codeOf(error)}`)
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${codeOf(error)}`)
  }
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UsageError(`${path} is not JSON`)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
