/** The client certificate of a connection, and the memory that unread responses take. */
import type { Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { formatBytes } from '../engine/limits.js'
import type { VerifiedCertificate } from '../model/connection.js'
import { A2AError, limitMetadata, overLimit } from '../model/errors.js'
import { addressKey } from '../net/addresses.js'

/** The certificate of a connection does not change, because the listener forbids renegotiation. */
const read = new WeakMap<Socket, VerifiedCertificate | 'none'>()

export function certificateOf(socket: Socket): VerifiedCertificate | undefined {
  let known = read.get(socket)
  if (known === undefined) {
    known = certificateFrom(trustedPeer(socket as TLSSocket)) ?? 'none' // plain sockets lack these members
    read.set(socket, known)
  }
  return known === 'none' ? undefined : known
}

/** Resumed sessions are `authorized` without a certificate, so both are checked. */
function trustedPeer(socket: Partial<TLSSocket>): PeerCertificate | undefined {
  return socket.authorized === true ? socket.getPeerCertificate?.() : undefined
}

function certificateFrom(peer: PeerCertificate | undefined): VerifiedCertificate | undefined {
  if (!peer?.raw) return undefined
  const { CN: commonName } = peer.subject as { readonly CN?: string | readonly string[] } // a list if there are several
  return {
    ...(typeof commonName === 'string' && { commonName }),
    altNames: altNamesIn(peer.subjectaltname ?? ''),
    fingerprint: peer.fingerprint256.replaceAll(':', '').toLowerCase(),
    raw: peer.raw,
  }
}

/** Node joins them in one line: `DNS:a.example, URI:"with, a comma"`. Names in another format are ignored. */
function altNamesIn(line: string): readonly string[] {
  const names: string[] = []
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y
  while (entry.lastIndex < line.length) {
    const [, kind, value = ''] = entry.exec(line) ?? []
    if (kind === undefined) return []
    names.push(`${kind}:${value.startsWith('"') ? String(JSON.parse(value)) : value}`)
  }
  return names
}

/** Maximum bytes of large responses that one server holds for their readers. */
const defaultMax = 256 * 1024 * 1024

/**
 * Counts the large responses of one server that their readers have not read yet. A small request can cause a large
 * response, which stays in memory until it is read. One caller can hold a quarter of the budget, so that callers that do
 * not read cannot block others.
 */
export class UnreadAnswers {
  readonly #max: number
  readonly #maxPerCaller: number
  #total = 0
  readonly #byCaller = new Map<string, number>()

  constructor(max: number = defaultMax) {
    this.#max = max
    this.#maxPerCaller = max / 4
  }

  /** Counts a response until the returned function is called. Throws if a limit is reached. */
  admit(size: number, caller: string): () => void {
    const held = this.#byCaller.get(caller) ?? 0
    // A response larger than a limit passes if it is the only one.
    if (held > 0 && held + size > this.#maxPerCaller)
      throw overLimit(
        { limit: 'unreadAnswers', max: this.#maxPerCaller },
        `Too many of your answers are unread (${this.#text(this.#maxPerCaller)}), read them first`,
      )
    if (this.#total > 0 && this.#total + size > this.#max) {
      const details = { metadata: limitMetadata({ limit: 'unreadAnswers', max: this.#max }), retryAfterSeconds: 1 }
      throw new A2AError(
        'UNAVAILABLE',
        `Too many answers are unread (${this.#text(this.#max)}), try again later`,
        details,
      )
    }
    this.#add(caller, size)
    let isCounted = true
    return () => {
      if (isCounted) this.#add(caller, -size)
      isCounted = false
    }
  }

  #text(max: number): string {
    const each = max === this.#max ? '' : ' for each caller'
    return `limit unreadAnswers: ${formatBytes(max)}${each}`
  }

  #add(caller: string, size: number): void {
    this.#total += size
    const held = (this.#byCaller.get(caller) ?? 0) + size
    if (held > 0) this.#byCaller.set(caller, held)
    else this.#byCaller.delete(caller)
  }
}

/** The key that responses are counted by: the caller's id; without credentials, the network of the caller's address. */
export function callerKey(caller: string | undefined, address: string | undefined): string {
  return caller === undefined ? `address ${addressKey(address ?? '')}` : `caller ${caller}`
}
