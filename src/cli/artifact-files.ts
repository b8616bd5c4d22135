/** The files that a task's artifacts make, under names that cannot leave the folder they are put into. Pure. */

import type { Artifact, Part, Task } from '../client/index.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { trimEnd } from '../model/trim-end.js'
import { extensionOf } from './message-parts.js'

/** A file to be written, with its bytes or where to get them. */
export type ArtifactFile = { readonly name: string } & ({ readonly bytes: Uint8Array } | { readonly url: string })

export function filesOf({ artifacts = [] }: Task): ArtifactFile[] {
  const taken = new Set<string>()
  return artifacts.flatMap((artifact) =>
    piecesOf(artifact).map(({ name, ...content }) => ({ name: untaken(safeName(name), taken), ...content })),
  )
}

/** Text comes in pieces and is one file; everything else is a file of its own. */
function piecesOf(artifact: Artifact): ArtifactFile[] {
  const title = artifact.name ?? artifact.artifactId
  const texts = artifact.parts.filter((part) => 'text' in part)
  const [first] = texts
  const files = artifact.parts.filter((part) => !('text' in part)).map((part) => pieceOf(part, title))
  if (!first) return files
  const name = first.filename ?? withExtension(title, extensionOf(first.mediaType ?? '') || '.txt')
  const text = texts.map((part) => part.text).join('')
  return [{ name, bytes: Buffer.from(text, 'utf8') }, ...files]
}

function pieceOf(part: Part, title: string): ArtifactFile {
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

const longestName = 120
/** Names that are devices on Windows, whatever stands behind their dot. */
const devices = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** The last segment of whatever a stranger called it, without what any file system takes for something else. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const printable = last.replace(/[\p{Cc}\p{Cf}<>:"|?*]/gu, '_').replace(/^[.\s]+/, '')
  const plain = trimEnd(printable, /[.\s]/)
  const [stem, extension] = splitName(devices.test(plain) ? `_${plain}` : plain)
  return stem.slice(0, longestName - extension.length) + extension || 'artifact'
}

function untaken(name: string, taken: Set<string>): string {
  const [stem, extension] = splitName(name)
  let free = name
  // Some file systems do not tell capitals apart.
  for (let count = 2; taken.has(free.toLowerCase()); count++) free = `${stem}-${count}${extension}`
  taken.add(free.toLowerCase())
  return free
}

function splitName(name: string): [stem: string, extension: string] {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^.]{1,12})?$/.exec(name) ?? []
  return [stem, extension]
}
