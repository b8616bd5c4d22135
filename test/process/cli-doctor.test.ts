/** `dragoman doctor` on our server, on servers of other projects, and on faulty or silent ones. */
import { createServer } from 'node:net'
import { serve } from 'dragoman'
import { echoAgent } from 'dragoman/testing'
import { describe, expect, it, vi } from 'vitest'
import { certificate, key } from '../matrix/certificate.js'
import { type ForeignServer, serveV1, serveV02, serveV03 } from '../peers/foreign-servers.js'
import { cli, json } from './cli-command.js'
import { freePort, type ScriptedRequest, scriptedServer, sendJson } from './hostile-agent.js'
import { startServer } from './server-process.js'

interface Finding {
  readonly check: string
  readonly verdict: string
  readonly what: string
  readonly advice?: string
}

interface Examined {
  readonly code: number | null
  readonly health: string
  readonly findings: readonly Finding[]
}

async function doctor(...args: string[]): Promise<Examined> {
  const { code, stdout, stderr } = await cli(['doctor', ...args, '-o', 'json'])
  expect(stderr).toBe('')
  return { code, ...(json(stdout) as Omit<Examined, 'code'>) }
}

/** `verdict check`, in order. */
function verdicts({ findings }: Examined): string[] {
  return findings.map(({ check, verdict }) => `${verdict} ${check}`)
}

function faults({ findings }: Examined): Finding[] {
  return findings.filter(({ verdict }) => verdict === 'problem' || verdict === 'warning')
}

describe('dragoman doctor on our server', () => {
  it('finds no faults of our server', async () => {
    await using server = await startServer()
    const { code, stdout, stderr } = await cli(['doctor', server.url, '--send'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.at(-1)).toBe('Healthy')
    expect(lines.slice(0, -1).filter((line) => !/^(ok|note) /.test(line))).toEqual([])
    expect(stdout).toMatch(/^note +web pages +pages of other origins cannot read the card/m)
    expect(stdout).not.toMatch(/^ok .*\b(cannot|none)\b/m)
    expect(stdout).toContain(`found at ${server.url}.well-known/agent-card.json`)
    expect(stdout).toMatch(/^ok +GRPC 1\.0 +answers at /m)
    expect(stdout).toMatch(/^ok +HTTP\+JSON 0\.3 +answers at /m)
    expect(stdout).toMatch(/^ok +streaming +declared, and works: 3 events in \d+ ms, completed$/m)
  })

  it('notes faults that Google ADK rejects: an address that is not a URL, and another origin', async () => {
    await using server = await startServer()
    const noted = ({ findings }: Examined) => findings.filter(({ check }) => check === 'Google ADK')
    const { port } = new URL(server.url)
    expect(noted(await doctor(server.url))).toEqual([
      {
        check: 'Google ADK',
        verdict: 'note',
        what: `rejects this card: the interface localhost:${port} is not a URL`,
        advice: 'serve without gRPC for ADK clients: --no-grpc, or advanced: { grpc: false }',
      },
    ])
    await using plain = await startServer(['--echo', '--no-grpc'])
    expect(plain.stdout).not.toContain('gRPC')
    expect(noted(await doctor(plain.url))).toEqual([])
    const elsewhere = noted(await doctor(plain.url.replace('localhost', '127.0.0.1')))
    expect(elsewhere).toMatchObject([{ what: expect.stringContaining('has another origin than the card') }])
  })

  it('sends no message without --send', async () => {
    await using server = await startServer()
    const examined = await doctor(server.url)
    expect(examined).toMatchObject({ code: 0, health: 'healthy' })
    expect(verdicts(examined)).toContain('skipped sending')
    const listed = await cli(['task', 'list', server.url, '-o', 'json'])
    expect(json(listed.stdout)).toMatchObject({ tasks: [] })
  })

  it('reports a failed task with its reason', async () => {
    await using server = await startServer()
    const failed = await doctor(server.url, '--send', 'fail')
    expect(failed).toMatchObject({ code: 0, health: 'healthy' })
    expect(verdicts(failed)).toContain('ok streaming')
    expect(faults(failed)).toMatchObject([
      { check: 'sending', verdict: 'warning', what: 'the task of the message fail failed: Failed as asked' },
    ])
    const rejected = await doctor(server.url, '--send', 'reject')
    expect(faults(rejected)).toMatchObject([{ what: 'the task of the message reject was rejected: Rejected as asked' }])
  })

  it('with authentication: runs the remaining checks only with credentials', async () => {
    await using server = await startServer(['--echo', '--api-key', 'sesame'])
    const outside = await doctor(server.url)
    expect(outside).toMatchObject({ code: 0, health: 'healthy' })
    expect(verdicts(outside)).toEqual(expect.arrayContaining(['ok security', 'skipped credentials']))
    const inside = await doctor(server.url, '--send', '--header', 'X-API-Key: sesame')
    expect(inside).toMatchObject({ code: 0, health: 'healthy' })
    expect(verdicts(inside)).toEqual(expect.arrayContaining(['ok security', 'ok push', 'ok streaming']))
    const wrong = await doctor(server.url, '--header', 'X-API-Key: guess')
    expect(wrong).toMatchObject({ code: 1, health: 'problems' })
    expect(faults(wrong)).toMatchObject([{ check: 'credentials', verdict: 'problem' }])
  })

  it.each(['v0.1', 'v0.3', 'v1'])('that speaks %s only', async (dialect) => {
    await using server = await startServer(['--echo', '--dialects', dialect])
    const examined = await doctor(server.url, '--send')
    expect({ code: examined.code, faults: faults(examined) }).toEqual({ code: 0, faults: [] })
    expect(verdicts(examined)).toContain('ok streaming')
  })

  it('checks one binding with --binding', async () => {
    await using server = await startServer()
    const examined = await doctor(server.url, '--binding', 'rest')
    expect(examined).toMatchObject({ code: 0, health: 'healthy' })
    expect(verdicts(examined)).toEqual(expect.arrayContaining(['skipped JSONRPC 1.0', 'ok HTTP+JSON 1.0']))
  })
})

describe('dragoman doctor on the servers of the official SDK', () => {
  async function examined(start: () => Promise<ForeignServer>): Promise<Examined> {
    for (const level of ['error', 'warn', 'log'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
    await using server = await start()
    return await doctor(server.url, '--send')
  }

  it.each([
    ['1.3.0', serveV1, ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'GRPC 1.0']],
    ['0.3.14', serveV03, ['JSONRPC 0.3', 'HTTP+JSON 0.3', 'GRPC 0.3']],
  ] as const)('%s: healthy on every binding', async (_, start, bindings) => {
    const found = await examined(start)
    expect({ code: found.code, faults: faults(found) }).toEqual({ code: 0, faults: [] })
    expect(verdicts(found)).toEqual(expect.arrayContaining(bindings.map((binding) => `ok ${binding}`)))
    expect(verdicts(found)).toContain('ok streaming')
  })

  it('0.2.5: healthy, but its card has no protocol version', async () => {
    const found = await examined(serveV02)
    expect(found).toMatchObject({ code: 0, health: 'healthy' })
    expect(faults(found)).toMatchObject([{ check: 'version', verdict: 'warning' }])
    expect(verdicts(found)).toEqual(expect.arrayContaining(['ok JSONRPC 0.2', 'ok push', 'ok streaming']))
  })
})

describe('dragoman doctor on faulty agents', () => {
  /** A valid card that declares every capability. */
  function overstatedCard(url: string, more: object = {}): object {
    return {
      name: 'Liar',
      description: 'Says what it likes',
      version: '1.0.0',
      supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: true, pushNotifications: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'lie', name: 'Lie', description: 'Lies', tags: ['lie'] }],
      ...more,
    }
  }

  const isCard = ({ path }: ScriptedRequest) => path === '/.well-known/agent-card.json'

  it('reports every fault: missing interfaces, wrong codes, versions, push, security, invalid streams', async () => {
    const grpcPort = await freePort()
    await using server = await scriptedServer((request, response) => {
      const { url, path, method, id } = request
      if (isCard(request))
        return sendJson(
          response,
          overstatedCard(url, {
            supportedInterfaces: [
              { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
              { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
              { url: `127.0.0.1:${grpcPort}`, protocolBinding: 'GRPC', protocolVersion: '1.0' },
              { url: 'https://elsewhere.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
            ],
            securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
            securityRequirements: [{ schemes: { key: { list: [] } } }],
          }),
        )
      if (path.startsWith('/rest')) return response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>')
      if (path !== '/rpc') return sendJson(response, {}, 404)
      if (method === 'SendStreamingMessage')
        return response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"oops\n\nrubbish\n\n')
      const code = /Push/.test(method) ? -32601 : -32000
      sendJson(response, { jsonrpc: '2.0', id, error: { code, message: 'Nope' } })
    })
    const examined = await doctor(server.url, '--send', '--timeout', '5')
    expect(examined).toMatchObject({ code: 1, health: 'problems' })
    expect(verdicts(examined)).toContain('ok card rules')
    expect(faults(examined)).toEqual(
      [
        ['JSONRPC 1.0', 'problem', /the error code is -32000, expected -32001/],
        ['JSONRPC 1.0', 'warning', /A2A-Version 99\.0 gets/],
        ['HTTP+JSON 1.0', 'problem', /\/rest, but it does not answer: .* cannot be read/],
        ['GRPC 1.0', 'problem', /declared at 127\.0\.0\.1:\d+, but it does not answer/],
        ['JSONRPC 1.0', 'warning', /was not called: it is at elsewhere\.example/],
        ['security', 'problem', /a call without credentials is answered/],
        ['push', 'problem', /METHOD_NOT_FOUND/],
        ['subscription', 'warning', /Nope/],
        ['events', 'problem', /an event is not JSON/],
        ['events', 'problem', /a line is not a field of an event: "rubbish"/],
        ['streaming', 'problem', /declared, but the message ping gets/],
      ].map(([check, verdict, what]) =>
        expect.objectContaining({ check, verdict, what: expect.stringMatching(what as RegExp) }),
      ),
    )
  })

  it('reports that A2A-Version is ignored', async () => {
    await using server = await scriptedServer((request, response) => {
      if (isCard(request)) return sendJson(response, overstatedCard(request.url, { capabilities: {} }))
      const error = { code: /Push/.test(request.method) ? -32003 : -32001, message: 'There is no such thing' }
      sendJson(response, { jsonrpc: '2.0', id: request.id, error })
    })
    const examined = await doctor(server.url)
    expect(faults(examined)).toMatchObject(
      [{ check: 'JSONRPC 1.0', verdict: 'problem', what: /99\.0/ }].map(({ what, ...rest }) => ({
        ...rest,
        what: expect.stringMatching(what),
      })),
    )
    expect(examined.code).toBe(1)
  })

  it('reports required credentials that the card does not declare', async () => {
    await using server = await scriptedServer((request, response) => {
      if (isCard(request)) return sendJson(response, overstatedCard(request.url))
      sendJson(response, { error: 'who are you' }, 401)
    })
    const examined = await doctor(server.url)
    expect(faults(examined)).toMatchObject([
      { check: 'security', verdict: 'problem', advice: expect.stringContaining('securitySchemes') },
      { check: 'security', verdict: 'warning', what: expect.stringContaining('WWW-Authenticate') },
    ])
  })

  it('reports a wrong clock, a wrong content type and an invalid card', async () => {
    await using server = await scriptedServer((request, response) => {
      if (!isCard(request)) return sendJson(response, {}, 404)
      const { name: _, ...nameless } = overstatedCard(request.url) as { name: string }
      response.writeHead(200, { 'content-type': 'text/plain', date: new Date(Date.now() - 3600_000).toUTCString() })
      response.end(JSON.stringify({ ...nameless, skills: [] }))
    })
    const examined = await doctor(server.url)
    expect(examined.code).toBe(1)
    expect(verdicts(examined)).toEqual(
      expect.arrayContaining(['problem card rules', 'warning card type', 'warning clock']),
    )
  })

  it('reports an invalid signature', async () => {
    await using server = await scriptedServer((request, response) => {
      if (!isCard(request)) return sendJson(response, {}, 404)
      sendJson(
        response,
        overstatedCard(request.url, { signatures: [{ protected: 'eyJhbGciOiJub25lIn0', signature: 'AA' }] }),
      )
    })
    expect(verdicts(await doctor(server.url))).toContain('problem signature')
  })

  it('sends credentials only to the named address', async () => {
    const seen: unknown[] = []
    await using other = await scriptedServer(({ headers, id }, response) => {
      seen.push(headers['x-api-key'])
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32001, message: 'No such task' } })
    })
    await using server = await scriptedServer((request, response) => {
      const elsewhere = { url: `${other.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
      if (isCard(request)) return sendJson(response, overstatedCard(request.url, { supportedInterfaces: [elsewhere] }))
      sendJson(response, {}, 404)
    })
    await doctor(server.url, '--header', 'X-API-Key: sesame')
    expect(seen.length).toBeGreaterThan(1)
    expect(new Set(seen)).toEqual(new Set([undefined]))
  })

  it('ends in time and reports its findings if calls are never answered', { timeout: 40_000 }, async () => {
    await using server = await scriptedServer((request, response) => {
      if (isCard(request)) sendJson(response, overstatedCard(request.url))
    })
    const examined = await doctor(server.url, '--timeout', '0.5')
    expect(examined).toMatchObject({ code: 1, health: 'problems' })
    expect(verdicts(examined)).toEqual(expect.arrayContaining(['ok connection', 'ok card', 'problem JSONRPC 1.0']))
    expect(faults(examined)[0]?.what).toContain('no answer within 0.5 s')
  })

  it('ends in time if a stream never ends', { timeout: 40_000 }, async () => {
    await using server = await scriptedServer((request, response) => {
      if (isCard(request)) return sendJson(response, overstatedCard(request.url))
      if (request.method === 'SendStreamingMessage') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': waiting\n\n')
        return
      }
      sendJson(response, { jsonrpc: '2.0', id: request.id, error: { code: -32001, message: 'No such task' } })
    })
    const examined = await doctor(server.url, '--send', '--timeout', '1')
    expect(faults(examined).at(-1)).toMatchObject({
      check: 'streaming',
      verdict: 'problem',
      what: expect.stringContaining('no answer within 1 s'),
    })
  })
})

describe('dragoman doctor without an agent', () => {
  it('a port that is closed: unreachable, exit 3', async () => {
    const examined = await doctor(`localhost:${await freePort()}`)
    expect(examined).toMatchObject({ code: 3, health: 'unreachable' })
    expect(verdicts(examined).at(-1)).toBe('problem connection')
  })

  it('an unknown name: exit 3', async () => {
    const examined = await doctor('agent.invalid')
    expect(examined).toMatchObject({
      code: 3,
      health: 'unreachable',
      findings: [{ check: 'name', verdict: 'problem' }],
    })
  })

  it('a port that accepts connections and never answers: exit 3, in time', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const child = doctor(`localhost:${port}`, '--timeout', '0.5')
    const examined = await child
    silent.close()
    expect(examined).toMatchObject({ code: 3, health: 'unreachable' })
    expect(verdicts(examined)).toEqual(['ok name', 'ok connection', 'problem card'])
  })

  it('a web site without a card: exit 1', async () => {
    await using server = await scriptedServer((_, response) => response.end('<h1>Welcome</h1>'))
    const examined = await doctor(server.url)
    expect(examined).toMatchObject({ code: 1, health: 'problems' })
    expect(faults(examined)).toMatchObject([{ check: 'card', what: expect.stringContaining('is not JSON') }])
  })

  it('an untrusted certificate: exit 3', async () => {
    await using served = await serve(echoAgent, { tls: { cert: certificate, key } })
    const examined = await doctor(served.url)
    expect(examined).toMatchObject({ code: 3, health: 'unreachable' })
    expect(faults(examined)).toMatchObject([
      { check: 'encryption', verdict: 'problem', what: expect.stringContaining('self-signed') },
    ])
  })

  it('nothing at all: exit 2', async () => {
    expect(await cli(['doctor'])).toMatchObject({ code: 2, stdout: '' })
  })
})
