import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { certificate as cert, key } from '../../test/matrix/certificate.js'
import { createSender } from './guarded-fetch.js'
import { json, serveHttp } from './http-server.fixture.js'
import { connect, mutualTls } from './index.js'

/** A minimal agent: a card, and the same response to every call. */
function answerOf(path: string, body: string, origin: string, before: readonly object[] = []): object {
  if (path.endsWith('/agent-card.json'))
    return {
      name: 'Small',
      description: 'Says hello',
      version: '1',
      supportedInterfaces: [...before, { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    }
  const { id } = JSON.parse(body) as { readonly id: unknown }
  return {
    jsonrpc: '2.0',
    id,
    result: { message: { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text: 'hello' }] } },
  }
}

describe('createClientDialer', () => {
  it('dials the address that was checked, so that DNS rebinding cannot reach a private network', async () => {
    await using inside = await serveHttp((_, response) => response.end('secret'))
    await using named = await serveHttp((_, response) =>
      response.writeHead(302, { location: `http://rebinding.example:${inside.port}/` }).end(),
    )
    const asked: string[] = []
    const send = createSender({
      namedOrigins: [`http://agent.example:${named.port}`],
      async lookup(name) {
        asked.push(name)
        // The name resolves to a public address, except for the one connection that this test needs.
        return name === 'agent.example' && asked.length > 1 ? ['8.8.8.8'] : ['127.0.0.1']
      },
    })
    const sent = send({ method: 'GET', url: `http://agent.example:${named.port}/`, headers: {} })
    await expect(sent).rejects.toMatchObject({ failure: 'refused', isRetryable: false })
    expect(asked.slice(0, 2)).toEqual(['agent.example', 'rebinding.example'])
    expect(inside.seen).toEqual([])
  })

  it('shares connections between the card and the calls, and closes them with the client', async () => {
    await using server = await serveHttp(({ path, body }, response) =>
      json(response, answerOf(path, body, server.origin)),
    )
    const agent = await connect(server.origin)
    for (let count = 0; count < 10; count++) expect((await agent.ask('hi')).text).toBe('hello')
    // A connection is free a moment after its answer was read, so that there may be a second one.
    expect(server.connections()).toBeLessThanOrEqual(2)
    await agent.close()
    await expect(agent.ask('hi')).rejects.toThrow()
  })

  it('uses the client certificate for the card too', async () => {
    const options = { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true }
    const server = createServer(options, async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      json(response, answerOf(request.url ?? '', body, origin))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
    try {
      await using agent = await connect(origin, { credentials: mutualTls({ cert, key, ca: cert }) })
      expect((await agent.ask('hi')).text).toBe('hello')
      await expect(connect(origin)).rejects.toMatchObject({ failure: 'unreachable' })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it.each([
    ['GRPC', '127.0.0.1:PORT'],
    ['GRPC', 'https://127.0.0.1:PORT'],
    ['HTTP+JSON', 'http://127.0.0.1:PORT/'],
    ['JSONRPC', 'https://127.0.0.1:PORT/rpc'],
  ])('skips an unreachable interface: %s at %s', async (protocolBinding, place) => {
    const gone = await serveHttp(() => undefined)
    await gone[Symbol.asyncDispose]()
    const dead = { url: place.replace('PORT', String(gone.port)), protocolBinding, protocolVersion: '1.0' }
    await using server = await serveHttp(({ path, body }, response) =>
      json(response, answerOf(path, body, server.origin, [dead])),
    )
    const warnings: string[] = []
    await using agent = await connect(server.origin, { onWarning: ({ message }) => warnings.push(message) })
    expect(agent.choice.binding).toBe(protocolBinding)
    expect((await agent.ask('hi')).text).toBe('hello')
    expect(agent.choice.url).toBe(`${server.origin}/rpc`)
    expect(warnings.at(-1)).toContain('Fell back')
    expect(server.seen.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })
})
