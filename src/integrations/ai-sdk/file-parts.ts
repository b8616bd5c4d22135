/** Files of messages: data URLs, links and bytes of the AI SDK as parts, and parts as data URLs. */
import { invalidField } from '../../model/errors.js'
import { file, type RawPart, type UrlPart } from '../../model/part.js'

interface FileContent {
  readonly data: Uint8Array | ArrayBuffer | string | URL
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}

/** The part of a file. Text in `data` is a data URL, a link or base64. Throws for links that are not HTTP. */
export function filePart({ data, mediaType, filename }: FileContent): RawPart | UrlPart {
  const about = { ...(mediaType !== undefined && { mediaType }), ...(filename !== undefined && { filename }) }
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return file(new Uint8Array(data), about)
  const address = typeof data === 'string' ? data : data.href
  const [head = ''] = address.slice(0, 1000).split(',', 1)
  if (/^data:/i.test(head) && /;base64$/i.test(head)) {
    const type = mediaType ?? head.slice('data:'.length).split(';', 1)[0]
    return { raw: address.slice(head.length + 1), ...about, ...(type && { mediaType: type }) }
  }
  if (/^https?:/i.test(address)) return { url: address, ...about }
  if (/^[a-z][a-z0-9+.-]*:/i.test(address.slice(0, 100)))
    throw invalidField('file', 'must be a link with http or https, or a data URL in base64')
  return { raw: address, ...about }
}

/** The address of a file in a chat. */
export function fileUrl(part: RawPart | UrlPart): string {
  return 'raw' in part ? `data:${part.mediaType ?? 'application/octet-stream'};base64,${part.raw}` : part.url
}
