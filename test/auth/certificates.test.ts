/** Client certificates on real TLS connections, over HTTP and gRPC. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { apiKey, mtls, type Served, serve } from 'dragoman'
import { allOf } from 'dragoman/auth'
import { createHandler, toNodeListener } from 'dragoman/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { type Authority, createAuthority, type Issued } from './authority.js'
import { bindings, mirror, type Presented } from './call-with-credentials.js'

let trusted: Authority
let otherAuthority: Authority
let server: Issued
beforeAll(async () => {
  trusted = await createAuthority('Clients of ours')
  otherAuthority = await createAuthority('Clients of others')
  server = await trusted.issue({ name: 'CN=localhost', altNames: [{ type: 'ip', value: '127.0.0.1' }] })
})
const tls = () => ({ ...server, ca: trusted.ca })
const showing = (client?: Issued): Presented => ({ tls: { ca: trusted.ca, ...client } })

describe.each(bindings)('a client certificate over %s', (_name, callWith) => {
  let served: Served
  beforeAll(async () => {
    served = await serve(mirror, { tls: tls(), auth: [mtls()] })
  })
  afterAll(() => served.close({ deadlineMs: 0 }))

  it(proves('R-SEC-2', 'from a trusted authority authenticates its subject'), async () => {
    const alice = await trusted.issue({ name: 'CN=alice, O=Example' })
    expect(await callWith(served.url, showing(alice))).toEqual({
      caller: { id: 'mtls:alice', scheme: 'mtls' },
    })
  })

  it.each<[string, () => Promise<Issued | undefined>]>([
    ['is absent', async () => undefined],
    ['is from another authority', () => otherAuthority.issue({ name: 'CN=alice' })],
    ['has expired', () => trusted.issue({ name: 'CN=alice', isExpired: true })],
    ['has no common name', () => trusted.issue({ name: 'O=Example' })],
    ['has two common names', () => trusted.issue({ name: 'CN=alice, CN=root' })],
  ])(proves('R-SEC-2', 'rejects a certificate that %s'), async (_what, make) => {
    expect(await callWith(served.url, showing(await make()))).toEqual({
      refused: 'UNAUTHENTICATED',
      challenge: 'MutualTLS',
    })
  })

  it('from an authority with the name of a trusted one fails before the call', async () => {
    const impostor = await createAuthority('Clients of ours')
    const came = callWith(served.url, showing(await impostor.issue({ name: 'CN=alice' })))
    expect(await came.then(({ caller }) => caller?.id).catch(() => undefined)).toBeUndefined()
  })

  it('can be mapped to another caller id', async () => {
    const altNames = [
      { type: 'url', value: 'spiffe://example/agents/alice' },
      { type: 'dns', value: 'alice.example' },
      { type: 'email', value: 'alice@example' },
    ] as const
    const alice = await trusted.issue({ name: 'CN=alice', altNames })
    const digest = new X509Certificate(alice.cert).fingerprint256.replaceAll(':', '').toLowerCase()
    for (const [caller, id] of [
      ['uri', 'mtls:spiffe://example/agents/alice'],
      ['dns', 'mtls:alice.example'],
      ['email', 'mtls:alice@example'],
      ['fingerprint', `mtls:${digest}`],
      [({ altNames }: { altNames: readonly string[] }) => altNames[1]?.slice(4), 'alice.example'],
    ] as const) {
      await using other = await serve(mirror, { tls: tls(), auth: [mtls({ caller })] })
      expect((await callWith(other.url, showing(alice))).caller?.id).toBe(id)
    }
  })

  it('with two names of one type is rejected', async () => {
    const altNames = [
      { type: 'dns', value: 'alice.example' },
      { type: 'dns', value: 'root.example' },
    ] as const
    await using other = await serve(mirror, { tls: tls(), auth: [mtls({ caller: 'dns' })] })
    const client = await trusted.issue({ name: 'CN=alice', altNames })
    expect((await callWith(other.url, showing(client))).refused).toBe('UNAUTHENTICATED')
  })

  it('can be required together with another scheme', async () => {
    const auth = [allOf(apiKey({ 'key-a': 'alice' }), mtls())]
    await using both = await serve(mirror, { tls: tls(), auth })
    const client = await trusted.issue({ name: 'CN=laptop' })
    const key = { headers: { 'x-api-key': 'key-a' } }
    expect((await callWith(both.url, { ...showing(client), ...key })).caller?.id).toBe('alice')
    expect((await callWith(both.url, showing(client))).refused).toBe('UNAUTHENTICATED')
    expect((await callWith(both.url, { ...showing(), ...key })).refused).toBe('UNAUTHENTICATED')
  })

  it('can be an alternative to another scheme', async () => {
    await using either = await serve(mirror, { tls: tls(), auth: [mtls(), apiKey({ 'key-a': 'alice' })] })
    const client = await trusted.issue({ name: 'CN=laptop' })
    expect((await callWith(either.url, showing(client))).caller?.id).toBe('mtls:laptop')
    const key = { headers: { 'x-api-key': 'key-a' } }
    expect((await callWith(either.url, { ...showing(), ...key })).caller?.id).toBe('alice')
  })
})

describe('mtls', () => {
  it('is declared in the cards, which are public', async () => {
    await using served = await serve(mirror, { tls: tls(), auth: [mtls()] })
    const { status, text } = await overTls(served.url, 'GET /.well-known/agent-card.json')
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({
      securitySchemes: { mtls: { mtlsSecurityScheme: {}, type: 'mutualTLS' } },
      securityRequirements: [{ schemes: { mtls: {} } }],
    })
  })

  it('does not start without TLS or without authorities', async () => {
    const { ca: _ca, ...withoutAuthority } = tls()
    await expect(serve(mirror, { auth: [mtls()] })).rejects.toThrow(/needs `tls`: behind a proxy/)
    await expect(serve(mirror, { auth: [allOf(apiKey('k'), mtls())] })).rejects.toThrow(/needs `tls`/)
    await expect(serve(mirror, { auth: [mtls()], tls: withoutAuthority })).rejects.toThrow(/needs `tls.ca`/)
    await expect(serve(mirror, { auth: [mtls()], tls: { ...tls(), requestCert: false } })).rejects.toThrow(
      /needs `tls.requestCert`/,
    )
  })

  it('can be required by the TLS handshake', async () => {
    await using served = await serve(mirror, { tls: { ...tls(), rejectUnauthorized: true }, auth: [mtls()] })
    await expect(overTls(served.url, 'GET /.well-known/agent-card.json')).rejects.toThrow()
    const client = await trusted.issue({ name: 'CN=alice' })
    expect((await overTls(served.url, 'GET /.well-known/agent-card.json', client)).status).toBe(200)
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('checks the certificate of resumed sessions (%s)', async (version) => {
    await using served = await serve(mirror, { tls: tls(), auth: [mtls()] })
    const alice = await trusted.issue({ name: 'CN=alice' })
    const mallory = await otherAuthority.issue({ name: 'CN=alice' })
    for (const [client, status] of [
      [undefined, 401],
      [mallory, 401],
      [alice, 200],
    ] as const) {
      const first = await session(served.url, version, client)
      expect(first.status).toBe(status)
      const again = await session(served.url, version, client, first.ticket)
      expect([again.isReused, again.status]).toEqual([true, status])
    }
  })

  it('works in an HTTPS server of the application', async () => {
    const handler = await createHandler(mirror, { auth: [mtls()] })
    const own = createServer({ ...tls(), requestCert: true, rejectUnauthorized: false }, toNodeListener(handler))
    own.listen(0, '127.0.0.1')
    await once(own, 'listening')
    const url = `https://127.0.0.1:${(own.address() as AddressInfo).port}/`
    try {
      const [, callWith] = bindings[0] ?? []
      const alice = await trusted.issue({ name: 'CN=alice' })
      expect((await callWith?.(url, showing(alice)))?.caller?.id).toBe('mtls:alice')
      expect((await callWith?.(url, showing()))?.refused).toBe('UNAUTHENTICATED')
      expect((await callWith?.(url, showing(await otherAuthority.issue({ name: 'CN=alice' }))))?.refused).toBe(
        'UNAUTHENTICATED',
      )
    } finally {
      own.closeAllConnections()
      own.close()
      await handler.close({ deadlineMs: 0 })
    }
  })
})

interface Exchange {
  readonly status: number
  readonly text: string
  readonly ticket: Buffer | undefined
  readonly isReused: boolean
}

function session(url: string, version: 'TLSv1.2' | 'TLSv1.3', client?: Issued, ticket?: Buffer): Promise<Exchange> {
  return overTls(url, 'GET /tasks', client, {
    minVersion: version,
    maxVersion: version,
    ...(ticket && { session: ticket }),
  })
}

/** Sends one request on a new connection. */
async function overTls(url: string, line: string, client?: Issued, more: object = {}): Promise<Exchange> {
  const { port } = new URL(url)
  const options = {
    port: Number(port),
    host: '127.0.0.1',
    ca: trusted.ca,
    ALPNProtocols: ['http/1.1'],
    ...client,
    ...more,
  }
  const socket: TLSSocket = connect(options)
  let ticket: Buffer | undefined
  let isReused = false
  let received = ''
  socket.on('session', (given) => {
    ticket = given
  })
  socket.on('data', (chunk) => {
    received += String(chunk)
  })
  socket.on('secureConnect', () => {
    isReused = socket.isSessionReused()
    socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  })
  await once(socket, 'close')
  socket.destroy()
  const text = received.slice(received.indexOf('\r\n\r\n') + 4)
  const body = /transfer-encoding: chunked/i.test(received)
    ? text.replace(/^[\da-f]+\r\n|\r\n[\da-f]*\r\n/gi, '')
    : text
  return { status: Number(received.slice(9, 12)), text: body, ticket, isReused }
}
