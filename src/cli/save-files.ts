/** Saves the files of artifacts in a folder. Existing files are checked before anything is written. */

import { access, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { type Artifact, type Part, type Task, TransportError } from '../client/index.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { trimEnd } from '../model/trim-end.js'
import { AddressRefused, createGuardedDialer, type GuardedDialer } from '../net/index.js'
import { extensionOf } from './message-parts.js'

interface SaveOptions {
  readonly out: string
  readonly force?: true
  readonly links?: true
  /** Limits for all links together. */
  readonly maxFiles: number
  readonly maxBytes: number
  readonly maxSeconds: number
  /** Links may lead to the agent's host, and to the public internet. */
  readonly agentUrl: string
}

/** A saved file, or a link that was not fetched. */
type SavedFile =
  | { readonly name: string; readonly path: string; readonly bytes: number; readonly url?: string }
  | { readonly name: string; readonly url: string }

export async function saveFiles(files: readonly ArtifactFile[], options: SaveOptions): Promise<SavedFile[]> {
  const { out, force = false, links = false, agentUrl, maxFiles, maxBytes, maxSeconds } = options
  const linked = links ? files.filter((file) => 'url' in file).length : 0
  if (linked > maxFiles)
    throw new Error(`The task has ${linked} links, more than --max-files allows; pass --max-files ${linked}`)
  const wanted = files.map((file) => ({ file, path: join(out, file.name), isSaved: links || 'bytes' in file }))
  for (const { path, isSaved } of wanted) if (isSaved && !force && (await exists(path))) throw fileExists(path)
  if (wanted.some(({ isSaved }) => isSaved)) await mkdir(out, { recursive: true })
  const saved: SavedFile[] = []
  const allowHosts = canParseUrl(agentUrl) ? [new URL(agentUrl).hostname] : []
  await using dialer = createGuardedDialer({ httpsOnly: false, allowHosts, allowNeighbours: true })
  const signal = AbortSignal.timeout(Math.min(maxSeconds * 1000, maxTimerMs))
  const budget: Budget = { bytesLeft: maxBytes, signal, maxBytes, maxSeconds }
  for (const { file, path, isSaved } of wanted) {
    const { name } = file
    if ('bytes' in file) {
      await rejectExisting(path, writeFile(path, file.bytes, { flag: force ? 'w' : 'wx' }))
      saved.push({ name, path, bytes: file.bytes.byteLength })
    } else if (isSaved)
      saved.push({ name, path, bytes: await fetchTo(file.url, path, { dialer, force, budget }), url: file.url })
    else saved.push({ name, url: file.url })
  }
  return saved
}

const maxTimerMs = 0x7fff_ffff

interface Budget extends Pick<SaveOptions, 'maxBytes' | 'maxSeconds'> {
  bytesLeft: number
  readonly signal: AbortSignal
}

interface Fetching {
  readonly dialer: GuardedDialer
  readonly force: boolean
  readonly budget: Budget
}

/** Sends no credentials: the URL is untrusted. */
async function fetchTo(url: string, path: string, fetching: Fetching): Promise<number> {
  const { signal, maxSeconds } = fetching.budget
  try {
    return await stream(url, path, fetching)
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Error(`Fetching the links takes longer than ${maxSeconds} s; raise the limit with --max-seconds`, {
      cause: error,
    })
  }
}

async function stream(url: string, path: string, { dialer, force, budget }: Fetching): Promise<number> {
  const { signal } = budget
  const response = await dialer.fetch(url, { redirect: 'follow', signal }).catch((cause: unknown) => {
    if (cause instanceof AddressRefused && cause.rule !== 'name')
      throw new TransportError('refused', `The link ${url.slice(0, 200)} was not fetched: ${cause.message}`, { cause })
    throw new TransportError('unreachable', `The link ${url} does not answer`, { cause })
  })
  if (!response.ok || !response.body) throw new Error(`The link ${url} answers with HTTP ${response.status}`)
  const handle = await rejectExisting(path, open(path, force ? 'w' : 'wx'))
  const file = handle.createWriteStream()
  // `fetch` and `node:stream` declare different types for the same stream.
  const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
  try {
    await pipeline(body, withinBudget(budget), file, { signal })
  } catch (error) {
    await rm(path, { force: true }) // an incomplete file looks like a whole one
    throw error
  }
  return file.bytesWritten
}

function withinBudget(budget: Budget) {
  return async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      budget.bytesLeft -= chunk.byteLength
      if (budget.bytesLeft < 0)
        throw new Error(`The linked files have more than ${budget.maxBytes} bytes; raise the limit with --max-bytes`)
      yield chunk
    }
  }
}

async function rejectExisting<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'EEXIST' ? fileExists(path) : error
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

function fileExists(path: string): Error {
  return new Error(`${path} exists; pass --force to overwrite it`)
}

/** A file of an artifact: its bytes, or the URL they are at. */
type ArtifactFile = { readonly name: string } & ({ readonly bytes: Uint8Array } | { readonly url: string })

/** The files of a task's artifacts, with unique names that contain no path. */
export function filesOf({ artifacts = [] }: Task): ArtifactFile[] {
  const taken = new Set<string>()
  return artifacts.flatMap((artifact) =>
    filesOfArtifact(artifact).map(({ name, ...content }) => ({ name: uniqueName(safeName(name), taken), ...content })),
  )
}

/** All text parts form one file; every other part is a file. */
function filesOfArtifact(artifact: Artifact): ArtifactFile[] {
  const title = artifact.name ?? artifact.artifactId
  const texts = artifact.parts.filter((part) => 'text' in part)
  const [first] = texts
  const files = artifact.parts.filter((part) => !('text' in part)).map((part) => fileOfPart(part, title))
  if (!first) return files
  const name = first.filename ?? withExtension(title, extensionOf(first.mediaType ?? '') || '.txt')
  const text = texts.map((part) => part.text).join('')
  return [{ name, bytes: Buffer.from(text, 'utf8') }, ...files]
}

function fileOfPart(part: Part, title: string): ArtifactFile {
  const extension = extensionOf(part.mediaType ?? '')
  if ('data' in part) {
    const name = part.filename ?? withExtension(title, '.json')
    return { name, bytes: Buffer.from(`${JSON.stringify(part.data, null, 2)}\n`, 'utf8') }
  }
  if ('raw' in part)
    return { name: part.filename ?? withExtension(title, extension || '.bin'), bytes: Buffer.from(part.raw, 'base64') }
  if ('url' in part) return { name: part.filename ?? (lastSegment(part.url) || title), url: part.url }
  return { name: title, bytes: Buffer.from(part.text, 'utf8') }
}

function withExtension(title: string, extension: string): string {
  return title.toLowerCase().endsWith(extension) ? title : title + extension
}

function lastSegment(url: string): string {
  return canParseUrl(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : ''
}

const maxNameLength = 120
/** Names of devices on Windows, with any extension. */
const devices = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** The last path segment of an untrusted name, without characters that are special in a file system. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const printable = last.replace(/[\p{Cc}\p{Cf}<>:"|?*]/gu, '_').replace(/^[.\s]+/, '')
  const plain = trimEnd(printable, /[.\s]/)
  const [stem, extension] = splitName(devices.test(plain) ? `_${plain}` : plain)
  return stem.slice(0, maxNameLength - extension.length) + extension || 'artifact'
}

function uniqueName(name: string, taken: Set<string>): string {
  const [stem, extension] = splitName(name)
  let free = name
  // Some file systems ignore case.
  for (let count = 2; taken.has(free.toLowerCase()); count++) free = `${stem}-${count}${extension}`
  taken.add(free.toLowerCase())
  return free
}

function splitName(name: string): [stem: string, extension: string] {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^.]{1,12})?$/.exec(name) ?? []
  return [stem, extension]
}
