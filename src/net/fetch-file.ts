/**
 * Reads the bytes of a file part, inline or linked. The link comes from another party, so the guarded dialer opens it.
 * Messages of errors may be sent to the peer; details of our network are in the cause only.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { Part } from '../model/part.js'
import { userAgent } from '../model/user-agent.js'
import { AddressRefused, type AddressRules, ruleNames } from './address-rules.js'
import { createGuardedDialer } from './node-dialer.js'
import { readAtMost } from './read-at-most.js'

/** Options of `fetchFile`. By default links must use https and lead to the internet. */
export interface FetchFileOptions extends Omit<AddressRules, 'allowNeighbours'> {
  readonly limits?: {
    /** Maximum size. Default 10 MB. */
    readonly maxBytes?: number
    /** Time for the whole file. Default 30 s. */
    readonly timeoutMs?: number
  }
  /** Signal of the turn, which aborts when the task is cancelled. */
  readonly signal?: AbortSignal
}

const optionNames = {
  ...ruleNames,
  limits: { maxBytes: true, timeoutMs: true } satisfies NamesOf<NonNullable<FetchFileOptions['limits']>>,
  signal: true,
} satisfies NamesOf<FetchFileOptions>

/** The content of a file. */
export interface FetchedFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Media type of the message, or else of the response. It is not verified. */
  readonly mediaType?: string
  /** Name without folders, and without characters that are special to file systems or terminals. */
  readonly filename?: string
}

/**
 * Reads a file part, inline or linked, within limits. Throws `A2AError`: `PAYLOAD_TOO_LARGE` if the file is too large,
 * `INVALID_PARAMS` if the part is not a file or its link cannot be read.
 *
 * ```ts
 * const { bytes, mediaType } = await fetchFile(part, { limits: { maxBytes: 1_000_000 }, signal })
 * ```
 */
export async function fetchFile(part: Part, options: FetchFileOptions = {}): Promise<FetchedFile> {
  assertOptions('fetchFile', options, optionNames)
  const { limits = {}, signal, ...rules } = options
  const { maxBytes = 10 * 1024 * 1024, timeoutMs = 30_000 } = limits
  if ('raw' in part) {
    const bytes = decoded(part.raw, maxBytes)
    return { bytes, ...described(part.mediaType, part.filename) }
  }
  if (!('url' in part)) throw new A2AError('INVALID_PARAMS', 'The part is not a file')
  const deadline = AbortSignal.timeout(timeoutMs)
  await using dialer = createGuardedDialer(rules)
  try {
    const response = await dialer.fetch(part.url, {
      redirect: 'follow',
      headers: { accept: part.mediaType ?? '*/*', 'user-agent': userAgent },
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    })
    if (!response.ok) throw unreadable(part.url, `it answers with HTTP ${response.status}`)
    const bytes = await readAtMost(response, maxBytes)
    if (!bytes) throw tooLarge(maxBytes)
    const type = part.mediaType ?? response.headers.get('content-type') ?? undefined
    return { bytes, ...described(type, part.filename ?? new URL(part.url).pathname) }
  } catch (caught) {
    signal?.throwIfAborted()
    if (caught instanceof A2AError) throw caught
    if (deadline.aborted) throw unreadable(part.url, `it took longer than ${timeoutMs} ms`, caught)
    // Do not reveal which names exist in our networks.
    const isInside = caught instanceof AddressRefused && (caught.rule === 'place' || caught.rule === 'name')
    if (caught instanceof AddressRefused && !isInside) throw unreadable(part.url, caught.message, caught)
    throw unreadable(part.url, 'it cannot be reached from here', caught)
  }
}

function decoded(raw: string, maxBytes: number): Uint8Array<ArrayBuffer> {
  // Four characters are three bytes: check before the copy takes memory.
  if (raw.length > Math.ceil(maxBytes / 3) * 4) throw tooLarge(maxBytes)
  const bytes = new Uint8Array(Buffer.from(raw, 'base64'))
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes)
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

function tooLarge(maxBytes: number): A2AError {
  return new A2AError('PAYLOAD_TOO_LARGE', `The file is larger than ${maxBytes} bytes`)
}

function unreadable(url: string, why: string, cause?: unknown): A2AError {
  const place = canParseUrl(url) ? new URL(url).host : 'this address'
  return new A2AError('INVALID_PARAMS', `The file at ${place} cannot be read: ${why}`, { cause })
}
