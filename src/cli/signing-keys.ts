/** Keys in files: those that sign, which are for their owner alone, and those that are trusted. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import type { PublicKey } from '../client/index.js'
import type { KeyMaterial } from '../server/index.js'
import { UsageError } from './usage-error.js'

/** A JWK or a PEM. `warn` is told when others can read it too. */
export async function readSigningKey(path: string, warn: (warning: string) => void): Promise<KeyMaterial> {
  const text = await readText(path)
  // Windows has no such modes.
  const isOpen = process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0
  if (isOpen) warn(`others can read the key in ${path}: \`chmod 600\` it`)
  return text.trimStart().startsWith('{') ? (parse(text, path) as KeyMaterial) : text // checked where keys are loaded
}

/** A JWK, or a set of them. */
export async function readTrustedKeys(path: string): Promise<PublicKey> {
  const keys = parse(await readText(path), path)
  if (typeof keys === 'object' && keys !== null) return keys as PublicKey // only keys are taken out of it
  throw new UsageError(`${path} is no JWK and no set of them`)
}

/** For its owner alone, and never in the place of another file: that may be the key everybody knows. */
export async function writeSigningKey(path: string, key: object): Promise<void> {
  try {
    await writeFile(path, `${JSON.stringify(key, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new UsageError(`${path} is there already: name another file, or remove it`)
    throw new UsageError(`${path} cannot be written: ${codeOf(error)}`)
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${codeOf(error)}`)
  }
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new UsageError(`${path} is no JSON`)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
