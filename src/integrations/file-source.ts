/** Files of other protocols: links, data URLs and base64 as parts, and parts as links. */
import { canParseUrl } from '../model/can-parse-url.js'
import type { RawPart, UrlPart } from '../model/part.js'

/** Makes the error for a file from a text such as "must be base64 with padding". */
type Refuse = (problem: string) => Error

const maxUrlCharacters = 8_192
/** The text of a data URL before its comma. */
const maxHeadCharacters = 256
const mediaTypePattern = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/

/** The part for a link: an HTTP address, or a data URL in base64. */
export function linkedPart(url: string, refuse: Refuse): RawPart | UrlPart {
  if (/^data:/i.test(url)) return dataUrlPart(url, refuse)
  if (!/^https?:\/\//i.test(url) || url.length > maxUrlCharacters || !canParseUrl(url))
    throw refuse(`must be an http or https URL of at most ${maxUrlCharacters} characters, or a data URL`)
  return { url }
}

function dataUrlPart(url: string, refuse: Refuse): RawPart {
  const comma = url.slice(0, maxHeadCharacters).indexOf(',')
  const head = url.slice('data:'.length, Math.max(comma, 0))
  if (!/;base64$/i.test(head)) throw refuse('must be a data URL with base64')
  const part = base64Part(url.slice(comma + 1), refuse)
  const [mediaType] = head.split(';', 1)
  return mediaType ? { ...part, mediaType } : part
}

/** The part for bytes in base64. */
export function base64Part(raw: string, refuse: Refuse): RawPart {
  if (raw.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(raw)) throw refuse('must be base64 with padding')
  return { raw }
}

/** The address of a file: its link, or a data URL with its bytes. */
export function fileUrl(part: RawPart | UrlPart): string {
  if ('url' in part) return part.url
  // Other media types could end the head of the data URL.
  const isSafe = mediaTypePattern.test(part.mediaType ?? '')
  return `data:${isSafe ? part.mediaType : 'application/octet-stream'};base64,${part.raw}`
}

/** Whether a page can offer a file safely. Agents send links of any scheme, such as `javascript:`. */
export function isSafeFile(part: RawPart | UrlPart): boolean {
  return 'raw' in part || /^https?:\/\//i.test(part.url)
}
