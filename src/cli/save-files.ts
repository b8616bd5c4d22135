/** Writes files into a folder: all or none where that can be known before, and never over what is there unless told to. */
import { createWriteStream } from 'node:fs'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { TransportError } from '../client/index.js'
import { AddressRefused, createGuardedDialer, type GuardedDialer } from '../index.js'
import type { ArtifactFile } from './artifact-files.js'

interface SaveOptions {
  readonly out: string
  readonly force?: true
  readonly links?: true
  /** Where the agent is: links may lead there as well, and to the internet. */
  readonly agentUrl: string
}

/** Saved, or left where it is. */
export type SavedFile =
  | { readonly name: string; readonly path: string; readonly bytes: number; readonly url?: string }
  | { readonly name: string; readonly url: string }

export async function saveFiles(files: readonly ArtifactFile[], options: SaveOptions): Promise<SavedFile[]> {
  const { out, force = false, links = false, agentUrl } = options
  const wanted = files.map((file) => ({ file, path: join(out, file.name), isSaved: links || 'bytes' in file }))
  for (const { path, isSaved } of wanted) if (isSaved && !force && (await exists(path))) throw alreadyThere(path)
  if (wanted.some(({ isSaved }) => isSaved)) await mkdir(out, { recursive: true })
  const saved: SavedFile[] = []
  const allowHosts = URL.canParse(agentUrl) ? [new URL(agentUrl).hostname] : []
  await using dialer = createGuardedDialer({ httpsOnly: false, allowHosts, allowNeighbours: true })
  for (const { file, path, isSaved } of wanted) {
    const { name } = file
    if ('bytes' in file) {
      await orAlreadyThere(path, writeFile(path, file.bytes, { flag: force ? 'w' : 'wx' }))
      saved.push({ name, path, bytes: file.bytes.byteLength })
    } else if (isSaved)
      saved.push({ name, path, bytes: await fetchTo(file.url, path, { dialer, force }), url: file.url })
    else saved.push({ name, url: file.url })
  }
  return saved
}

interface Fetching {
  readonly dialer: GuardedDialer
  readonly force: boolean
}

/** Without credentials of any kind: the address is the agent's word. */
async function fetchTo(url: string, path: string, { dialer, force }: Fetching): Promise<number> {
  const response = await dialer.fetch(url, { redirect: 'follow' }).catch((cause: unknown) => {
    if (cause instanceof AddressRefused && cause.rule !== 'name')
      throw new TransportError('refused', `The link ${url.slice(0, 200)} is not followed: ${cause.message}`, { cause })
    throw new TransportError('unreachable', `The link ${url} does not answer`, { cause })
  })
  if (!response.ok || !response.body) throw new Error(`The link ${url} answers with HTTP ${response.status}`)
  const file = createWriteStream(path, { flags: force ? 'w' : 'wx' })
  // The same stream; two libraries describe its type.
  await orAlreadyThere(path, pipeline(Readable.fromWeb(response.body as ReadableStream<Uint8Array>), file))
  return file.bytesWritten
}

async function orAlreadyThere<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'EEXIST' ? alreadyThere(path) : error
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

function alreadyThere(path: string): Error {
  return new Error(`${path} is there already; --force overwrites it`)
}
