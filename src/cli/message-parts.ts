/** Parses the parts of a message: text, files and data, in the order of the options. */
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { Command } from 'commander'
import { file, type Part } from '../index.js'
import type { JsonValue } from '../model/index.js'
import { UsageError } from './failure.js'

interface GivenPart {
  readonly kind: 'text' | 'file' | 'data'
  readonly value: string
  mediaType?: string
}

/** Adds the options for message parts. The returned list is filled while commander parses the command line. */
export function addPartOptions(command: Command): readonly GivenPart[] {
  const given: GivenPart[] = []
  const add = (kind: GivenPart['kind']) => (value: string) => {
    given.push({ kind, value })
  }
  command
    .option('--text <text>', 'add a text part; --text, --file and --data are repeatable, in any order', add('text'))
    .option('--file <path>', 'add a file part: a path, a URL (sent as a link), or - for stdin', add('file'))
    .option('--data <json>', 'add a data part: JSON, or @PATH of a JSON file', add('data'))
    .option('--media-type <type>', 'media type of the part before this option', (mediaType: string) => {
      const last = given.at(-1)
      if (!last) throw new UsageError('--media-type must follow the --text, --file or --data that it describes')
      last.mediaType = mediaType
    })
  return given
}

/** Reads the parts: first the text arguments, in which `-` is stdin, then the options. */
export async function readParts(words: readonly string[], given: readonly GivenPart[]): Promise<Part[]> {
  const usesStdin = [...words, ...given.filter(({ kind }) => kind === 'file').map(({ value }) => value)]
  if (usesStdin.filter((word) => word === '-').length > 1) throw new UsageError('stdin (-) can be used once only')
  const parts: Part[] = []
  if (words.length > 0) parts.push({ text: await wordsText(words) })
  for (const each of given) parts.push(await readPart(each))
  if (parts.every((part) => 'text' in part && part.text.trim() === ''))
    throw new UsageError('the message is empty: give text, --file or --data, or - for stdin')
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

/** Parses JSON, or the JSON file after `@`. */
export async function readJson(given: string, option: string): Promise<JsonValue> {
  const source = given.startsWith('@') ? (await readGivenFile(given.slice(1))).toString('utf8') : given
  try {
    return JSON.parse(source) as JsonValue // the result of JSON.parse
  } catch {
    throw new UsageError(`${option}: invalid JSON: ${source.slice(0, 60)}`)
  }
}

export async function readGivenFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new UsageError(isMissing ? `file not found: ${path}` : `cannot read the file ${path}`)
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

/** The file extension of a media type, with its dot; empty if unknown. */
export function extensionOf(mediaType: string): string {
  const bare = mediaType.split(';')[0]?.trim().toLowerCase() ?? ''
  return Object.entries(mediaTypes).find(([, type]) => type === bare)?.[0] ?? ''
}
