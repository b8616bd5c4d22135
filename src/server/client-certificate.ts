/** The certificate that a client showed on its connection, as schemes see it. */
import type { Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { VerifiedCertificate } from '../auth/scheme.js'

/** A connection has one certificate as long as it lives (the listener forbids renegotiation). */
const read = new WeakMap<Socket, VerifiedCertificate | 'none'>()

export function certificateOf(socket: Socket): VerifiedCertificate | undefined {
  let known = read.get(socket)
  if (known === undefined) {
    known = certificateFrom(trustedPeer(socket as TLSSocket)) ?? 'none' // without TLS it lacks the members asked for
    read.set(socket, known)
  }
  return known === 'none' ? undefined : known
}

/** `authorized` alone does not say that there is a certificate: sessions that are resumed have it without one. */
function trustedPeer(socket: Partial<TLSSocket>): PeerCertificate | undefined {
  return socket.authorized === true ? socket.getPeerCertificate?.() : undefined
}

export function certificateFrom(peer: PeerCertificate | undefined): VerifiedCertificate | undefined {
  if (!peer?.raw) return undefined
  const { CN: commonName } = peer.subject as { readonly CN?: string | readonly string[] } // several make a list
  return {
    ...(typeof commonName === 'string' && { commonName }),
    altNames: altNamesIn(peer.subjectaltname ?? ''),
    fingerprint: peer.fingerprint256.replaceAll(':', '').toLowerCase(),
    raw: peer.raw,
  }
}

/** Node writes them in one line: `DNS:a.example, URI:"with, a comma"`. What is not written so is not read. */
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
