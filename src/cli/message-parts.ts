/** What to send: words, text, files and data, in the order they were typed. */
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { Command } from 'commander'
import { file, type Part } from '../index.js'
import type { JsonValue } from '../model/index.js'
import { UsageError } from './usage-error.js'

interface GivenPart {
  readonly kind: 'text' | 'file' | 'data'
  readonly value: string
  mediaType?: string
}

/** Adds the options of a message; the answer fills while the words are read. */
export function addPartOptions(command: Command): readonly GivenPart[] {
  const given: GivenPart[] = []
  const add = (kind: GivenPart['kind']) => (value: string) => {
    given.push({ kind, value })
  }
  command
    .option('--text <text>', 'a text part; may be repeated, like the next two, in any order', add('text'))
    .option('--file <path>', 'a file part: a path, a URL to be sent as a link, or - for stdin', add('file'))
    .option('--data <json>', 'a data part: JSON, or @PATH of a JSON file', add('data'))
    .option('--media-type <type>', 'of the part before it', (mediaType: string) => {
      const last = given.at(-1)
      if (!last) throw new UsageError('--media-type belongs behind the --text, --file or --data it is about')
      last.mediaType = mediaType
    })
  return given
}

/** The parts of a message: the words first, then what the options gave. `-` among the words is stdin. */
export async function readParts(words: readonly string[], given: readonly GivenPart[]): Promise<Part[]> {
  const usesStdin = [...words, ...given.filter(({ kind }) => kind === 'file').map(({ value }) => value)]
  if (usesStdin.filter((word) => word === '-').length > 1) throw new UsageError('stdin (-) can be read once only')
  const parts: Part[] = []
  if (words.length > 0) parts.push({ text: await wordsText(words) })
  for (const each of given) parts.push(await readPart(each))
  if (parts.every((part) => 'text' in part && part.text.trim() === ''))
    throw new UsageError('there is nothing to send: give text, --file or --data, or - for stdin')
  return parts
}

async function wordsText(words: readonly string[]): Promise<string> {
  const read = words.map(async (word) => (word === '-' ? (await readStdin()).toString('utf8') : word))
  return (await Promise.all(read)).join(' ')
}

async function readPart({ kind, value, mediaType }: GivenPart): Promise<Part> {
  const typed = mediaType !== undefined && { mediaType }
  if (kind === 'text') return { text: value, ...typed }
  if (kind === 'data') return { data: await readJson(value, '--data'), mediaType: 'application/json', ...typed }
  if (/^https?:\/\//i.test(value)) return { ...file(new URL(value)), ...typed }
  const bytes = value === '-' ? await readStdin() : await readGivenFile(value)
  return file(bytes, {
    ...(value !== '-' && { filename: basename(value) }),
    mediaType: mediaType ?? mediaTypeOf(value),
  })
}

/** JSON as it is typed, or from a file. */
export async function readJson(given: string, option: string): Promise<JsonValue> {
  const source = given.startsWith('@') ? (await readGivenFile(given.slice(1))).toString('utf8') : given
  try {
    return JSON.parse(source) as JsonValue // parsing gives nothing else
  } catch {
    throw new UsageError(`${option}: this is not JSON: ${source.slice(0, 60)}`)
  }
}

export async function readGivenFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new UsageError(isMissing ? `there is no file ${path}` : `the file ${path} cannot be read`)
  }
}

export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks)
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.txt': 'text/plain',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.css': 'text/css',
  '.xml': 'application/xml',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.js': 'text/javascript',
  '.pdf': 'application/pdf',
  '.zip': 'application/zip',
  '.gz': 'application/gzip',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.ogg': 'audio/ogg',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
}

function mediaTypeOf(path: string): string {
  return mediaTypes[extname(path).toLowerCase()] ?? 'application/octet-stream'
}

/** The usual ending of a file of this type, with its dot; empty when there is none. */
export function extensionOf(mediaType: string): string {
  const bare = mediaType.split(';')[0]?.trim().toLowerCase() ?? ''
  return Object.entries(mediaTypes).find(([, type]) => type === bare)?.[0] ?? ''
}
