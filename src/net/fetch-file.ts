/**
 * The bytes of a file that somebody sent: as they are in the message, or from where its link leads, which is a
 * stranger's word. Everything it fails with may be told to the peer; what only we should know is the cause.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { Part } from '../model/part.js'
import { userAgent } from '../model/user-agent.js'
import { AddressRefused, type AddressRules, ruleNames } from './address-rules.js'
import { createDialer } from './node-dialer.js'
import { readAtMost } from './read-at-most.js'

/** Which addresses links may lead to: https on the internet, unless said otherwise. */
export interface FetchFileOptions extends Omit<AddressRules, 'allowNeighbours'> {
  readonly limits?: {
    /** Default 10 MB. */
    readonly maxBytes?: number
    /** For all of it. Default 30 s. */
    readonly timeoutMs?: number
  }
  /** The turn's, so that nothing is fetched for a task that was cancelled. */
  readonly signal?: AbortSignal
}

const optionNames = {
  ...ruleNames,
  limits: { maxBytes: true, timeoutMs: true } satisfies NamesOf<NonNullable<FetchFileOptions['limits']>>,
  signal: true,
} satisfies NamesOf<FetchFileOptions>

/** A file that `fetchFile` read. */
export interface FetchedFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** As the message has it, else as the other side says; it is a claim about the bytes, not a fact. */
  readonly mediaType?: string
  /** The last segment of a path at most, without characters that mean something to a file system or a terminal. */
  readonly filename?: string
}

/**
 * Reads a file part, inline or linked, within limits. Links lead to the internet over https or nowhere.
 *
 * ```ts
 * const { bytes, mediaType } = await fetchFile(part, { limits: { maxBytes: 1_000_000 }, signal })
 * ```
 */
export async function fetchFile(part: Part, options: FetchFileOptions = {}): Promise<FetchedFile> {
  assertOptions('fetchFile', options, optionNames)
  const { maxBytes = 10 * 1024 * 1024, timeoutMs = 30_000 } = options.limits ?? {}
  if ('raw' in part) {
    const bytes = decoded(part.raw, maxBytes)
    return { bytes, ...described(part.mediaType, part.filename) }
  }
  if (!('url' in part)) throw new A2AError('INVALID_PARAMS', 'The part is no file')
  const deadline = AbortSignal.timeout(timeoutMs)
  await using dialer = createDialer(options)
  try {
    const response = await dialer.fetch(part.url, {
      redirect: 'follow',
      headers: { accept: part.mediaType ?? '*/*', 'user-agent': userAgent },
      signal: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
    })
    if (!response.ok) throw unreadable(part.url, `it answers with HTTP ${response.status}`)
    const bytes = await readAtMost(response, maxBytes)
    if (!bytes) throw tooLong(maxBytes)
    const type = part.mediaType ?? response.headers.get('content-type') ?? undefined
    return { bytes, ...described(type, part.filename ?? new URL(part.url).pathname) }
  } catch (caught) {
    options.signal?.throwIfAborted()
    if (caught instanceof A2AError) throw caught
    if (deadline.aborted) throw unreadable(part.url, `it took longer than ${timeoutMs} ms`, caught)
    // Which names exist on our networks, and where they lead, is nobody's business.
    const isInside = caught instanceof AddressRefused && (caught.rule === 'place' || caught.rule === 'name')
    if (caught instanceof AddressRefused && !isInside) throw unreadable(part.url, caught.message, caught)
    throw unreadable(part.url, 'it cannot be reached from here', caught)
  }
}

function decoded(raw: string, maxBytes: number): Uint8Array<ArrayBuffer> {
  // Three bytes from four characters; measured before it takes memory a second time.
  if (raw.length > Math.ceil(maxBytes / 3) * 4) throw tooLong(maxBytes)
  const bytes = new Uint8Array(Buffer.from(raw, 'base64'))
  if (bytes.byteLength > maxBytes) throw tooLong(maxBytes)
  return bytes
}

function described(type: string | undefined, name: string | undefined): Pick<FetchedFile, 'mediaType' | 'filename'> {
  const mediaType = /^\s*([\w.+-]+\/[\w.+-]+)/.exec(type ?? '')?.[1]?.toLowerCase()
  const filename = name
    ?.split(/[/\\]/)
    .at(-1)
    ?.replace(/[\p{C}<>:"|?*]/gu, '_')
    .replace(/^\.+/, '')
    .slice(0, 200)
  return { ...(mediaType && { mediaType }), ...(filename && { filename }) }
}

function tooLong(maxBytes: number): A2AError {
  return new A2AError('PAYLOAD_TOO_LARGE', `The file is longer than ${maxBytes} bytes`)
}

function unreadable(url: string, why: string, cause?: unknown): A2AError {
  const place = canParseUrl(url) ? new URL(url).host : 'this address'
  return new A2AError('INVALID_PARAMS', `The file at ${place} cannot be read: ${why}`, { cause })
}
