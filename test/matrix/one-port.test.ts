/** Every dialect over every binding on one real port, with and without TLS. */
import { get } from 'node:https'
import { connect } from 'node:tls'
import { credentials } from '@grpc/grpc-js'
import { agent, type Served, serve } from 'dragoman'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { chatRpc, invoke, taskRest } from './ad-hoc-clients.js'
import { certificate, key } from './certificate.js'
import { v1Grpc, v03Grpc } from './grpc-clients.js'
import { matrixAgent, scenarios } from './scenarios.js'
import { v01Go, v01JsonRpc, v03JsonRpc, v03Rest } from './v0-clients.js'
import { v1JsonRpc, v1Rest } from './v1-client.js'
import { type Fetch, resultOf, type WireClient } from './wire-client.js'

let served: Served
const over: Fetch = (path, init) => fetch(new URL(path, served.url), init)
const host = () => new URL(served.url).host

const peers: readonly (readonly [name: string, speak: () => WireClient])[] = [
  ['v1 over JSON-RPC', () => v1JsonRpc(over)],
  ['v1 over HTTP+JSON', () => v1Rest(over)],
  ['v1 over gRPC', () => v1Grpc(host())],
  ['v0.3 over JSON-RPC', () => v03JsonRpc(over)],
  ['v0.3 over HTTP+JSON', () => v03Rest(over)],
  ['v0.3 over gRPC', () => v03Grpc(host())],
  ['v0.2', () => v03JsonRpc(over, '0.2')],
  ['v0.1', () => v01JsonRpc(over)],
  ['v0.1-go', () => v01Go(over)],
  ['task-rest', () => taskRest(over)],
  ['invoke', () => invoke(over)],
  ['chat-rpc', () => chatRpc(over)],
]

describe('one port', () => {
  beforeAll(async () => {
    served = await serve(matrixAgent, { dialects: 'all' })
  })
  afterAll(() => served.close({ deadlineMs: 0 }))

  describe.each(peers)('carries %s', (_name, speak) => {
    it.each(scenarios)('%s', async (_scenario, play) => await play(speak()))
  })
})

describe('agents that share a port', () => {
  it('are distinguished over gRPC by the tenant their cards name, and keep their tasks', async () => {
    const named = (name: string) =>
      agent(name, async function* ({ text }) {
        yield `${name}: ${text}`
      })
    await using both = await serve([named('Writer'), named('Editor')])
    const { host: authority } = new URL(both.url)
    const card = (await (await fetch(`${both.agents[1]?.url}.well-known/agent-card.json`)).json()) as {
      supportedInterfaces: { protocolBinding: string; url: string; tenant?: string }[]
    }
    const grpc = card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC')
    expect(grpc).toEqual({ url: authority, protocolBinding: 'GRPC', tenant: 'editor', protocolVersion: '1.0' })
    const editor = v1Grpc(authority, undefined, 'editor')
    const made = resultOf(await editor.send('hello'))
    expect(made.text).toBe('Editor: hello')
    const overHttp = await fetch(`${both.agents[1]?.url}tasks/${made.id}`, { headers: { 'A2A-Version': '1.0' } })
    expect(overHttp.status).toBe(200)
    expect(await v1Grpc(authority).send('hello')).toMatchObject({ refused: { code: 'UNIMPLEMENTED' } })
    expect(await v1Grpc(authority, undefined, 'nobody').send('hello')).toMatchObject({ refused: { code: 'NOT_FOUND' } })
  })
})

describe('a port behind TLS', () => {
  let secure: Served
  beforeAll(async () => {
    secure = await serve(matrixAgent, { tls: { key, cert: certificate } })
  })
  afterAll(() => secure.close({ deadlineMs: 0 }))

  const negotiated = (offered: string[]) =>
    new Promise<string | false | null>((resolve, reject) => {
      const { port } = new URL(secure.url)
      const socket = connect({ port: Number(port), host: '127.0.0.1', ca: certificate, ALPNProtocols: offered }, () => {
        resolve(socket.alpnProtocol)
        socket.destroy()
      })
      socket.on('error', reject)
    })

  it('lists https addresses in its card', async () => {
    const card = await new Promise<string>((resolve, reject) => {
      get(`${secure.url}.well-known/agent-card.json`, { ca: certificate }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      }).on('error', reject)
    })
    const { supportedInterfaces } = JSON.parse(card) as { supportedInterfaces: { url: string }[] }
    const { host: authority } = new URL(secure.url)
    expect(supportedInterfaces[0]?.url).toBe(`https://${authority}/`)
    expect(supportedInterfaces.map(({ url }) => url)).toContain(authority)
  })

  it('negotiates HTTP/2 with clients that offer it', async () => {
    expect(await negotiated(['http/1.1', 'h2'])).toBe('h2')
    expect(await negotiated(['h2'])).toBe('h2')
    expect(await negotiated(['http/1.1'])).toBe('http/1.1')
    expect(await negotiated([])).toBe(false)
  })

  it(proves('R-GRPC-1', 'carries gRPC'), async () => {
    const { host: authority } = new URL(secure.url)
    const wireClient = v1Grpc(authority, credentials.createSsl(Buffer.from(certificate)))
    expect(resultOf(await wireClient.send('hello'))).toMatchObject({ state: 'completed', text: 'hello' })
  })
})
