/** Writes files into a folder: all or none where that can be known before, and never over what is there unless told to. */

import { access, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { TransportError } from '../client/index.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { AddressRefused, createGuardedDialer, type GuardedDialer } from '../net/index.js'
import type { ArtifactFile } from './artifact-files.js'

interface SaveOptions {
  readonly out: string
  readonly force?: true
  readonly links?: true
  /** Bounds of what links may bring, all of them together. */
  readonly maxFiles: number
  readonly maxBytes: number
  readonly maxSeconds: number
  /** Where the agent is: links may lead there as well, and to the internet. */
  readonly agentUrl: string
}

/** Saved, or left where it is. */
export type SavedFile =
  | { readonly name: string; readonly path: string; readonly bytes: number; readonly url?: string }
  | { readonly name: string; readonly url: string }

export async function saveFiles(files: readonly ArtifactFile[], options: SaveOptions): Promise<SavedFile[]> {
  const { out, force = false, links = false, agentUrl, maxFiles, maxBytes, maxSeconds } = options
  const linked = links ? files.filter((file) => 'url' in file).length : 0
  if (linked > maxFiles) throw new Error(`The task has ${linked} links; --max-files ${linked} fetches them all`)
  const wanted = files.map((file) => ({ file, path: join(out, file.name), isSaved: links || 'bytes' in file }))
  for (const { path, isSaved } of wanted) if (isSaved && !force && (await exists(path))) throw alreadyThere(path)
  if (wanted.some(({ isSaved }) => isSaved)) await mkdir(out, { recursive: true })
  const saved: SavedFile[] = []
  const allowHosts = canParseUrl(agentUrl) ? [new URL(agentUrl).hostname] : []
  await using dialer = createGuardedDialer({ httpsOnly: false, allowHosts, allowNeighbours: true })
  const signal = AbortSignal.timeout(Math.min(maxSeconds * 1000, longestTimerMs))
  const budget: Budget = { bytesLeft: maxBytes, signal, maxBytes, maxSeconds }
  for (const { file, path, isSaved } of wanted) {
    const { name } = file
    if ('bytes' in file) {
      await orAlreadyThere(path, writeFile(path, file.bytes, { flag: force ? 'w' : 'wx' }))
      saved.push({ name, path, bytes: file.bytes.byteLength })
    } else if (isSaved)
      saved.push({ name, path, bytes: await fetchTo(file.url, path, { dialer, force, budget }), url: file.url })
    else saved.push({ name, url: file.url })
  }
  return saved
}

const longestTimerMs = 0x7fff_ffff

interface Budget extends Pick<SaveOptions, 'maxBytes' | 'maxSeconds'> {
  bytesLeft: number
  readonly signal: AbortSignal
}

interface Fetching {
  readonly dialer: GuardedDialer
  readonly force: boolean
  readonly budget: Budget
}

/** Without credentials of any kind: the address is the agent's word. */
async function fetchTo(url: string, path: string, fetching: Fetching): Promise<number> {
  const { signal, maxSeconds } = fetching.budget
  try {
    return await stream(url, path, fetching)
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Error(`The links take longer than ${maxSeconds} s; --max-seconds raises the limit`, { cause: error })
  }
}

async function stream(url: string, path: string, { dialer, force, budget }: Fetching): Promise<number> {
  const { signal } = budget
  const response = await dialer.fetch(url, { redirect: 'follow', signal }).catch((cause: unknown) => {
    if (cause instanceof AddressRefused && cause.rule !== 'name')
      throw new TransportError('refused', `The link ${url.slice(0, 200)} is not followed: ${cause.message}`, { cause })
    throw new TransportError('unreachable', `The link ${url} does not answer`, { cause })
  })
  if (!response.ok || !response.body) throw new Error(`The link ${url} answers with HTTP ${response.status}`)
  const handle = await orAlreadyThere(path, open(path, force ? 'w' : 'wx'))
  const file = handle.createWriteStream()
  // The same stream; two libraries describe its type.
  const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
  try {
    await pipeline(body, withinBudget(budget), file, { signal })
  } catch (error) {
    await rm(path, { force: true }) // half a file looks like a whole one
    throw error
  }
  return file.bytesWritten
}

function withinBudget(budget: Budget) {
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      budget.bytesLeft -= chunk.byteLength
      if (budget.bytesLeft < 0)
        throw new Error(`The links lead to more than ${budget.maxBytes} bytes; --max-bytes raises the limit`)
      yield chunk
    }
  }
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
