import { describe, expect, it } from 'vitest'
import { type AgentCard, apiKey, serve } from '../index.js'
import type { DialectChoice } from '../server/index.js'
import { echoAgent } from '../testing/echo-agent.js'
import { bannerLines } from './serve-log.js'

/** The text after the shell has parsed it. */
function parse(line: string): {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
} {
  const [, url = '', rest = '', body = ''] = /^\s+curl (\S+)(.*) -d '(.*)'$/.exec(line) ?? []
  const headers = [...rest.matchAll(/ -H ['"]([^:]+): ([^'"]+)['"]/g)].map(([, name = '', value = '']) => [name, value])
  return { url, headers: Object.fromEntries(headers), body }
}

const pinned: DialectChoice = (['v1', 'v0.3', 'v0.1', 'v0.1-go', 'task-rest', 'invoke', 'chat-rpc'] as const).map(
  (dialect, place) => ({ dialect, path: `/old/${place}/` }),
)

describe('what serve says when it is ready', () => {
  it.each<[string, DialectChoice, number]>([
    ['all dialects', 'all', 4],
    ['some of them', ['v1', 'task-rest', 'v0.1-go'], 2],
    ['those at paths of their own', pinned, 7],
  ])('has a line to try for %s that works', async (_, dialects, count) => {
    await using served = await serve(echoAgent, { dialects, auth: [apiKey('secret')] })
    const lines = bannerLines({ url: served.url, dialects, hasApiKey: true, hasGrpc: true }).filter((line) =>
      line.includes('curl'),
    )
    expect(lines).toHaveLength(count)
    for (const line of lines) {
      const { url, headers, body } = parse(line.replace('$API_KEY', 'secret'))
      const response = await fetch(url, { method: 'POST', headers, body })
      const text = await response.text()
      expect([line, response.status, text]).toEqual([line, 200, expect.stringMatching(/"hi"/)])
      expect(text).not.toContain('"error"')
    }
  })

  it.each([true, false])('names localhost and the addresses of the card, with gRPC %s', async (grpc) => {
    await using served = await serve(echoAgent, { advanced: { grpc } })
    const { url } = served
    const lines = bannerLines({ url, dialects: undefined, hasApiKey: false, hasGrpc: grpc }).join('\n')
    const card = (await (await fetch(new URL('/.well-known/agent-card.json', url))).json()) as AgentCard
    const { port } = new URL(url)
    const own = [`http://localhost:${port}/`, `http://localhost:${port}`, ...(grpc ? [`localhost:${port}`] : [])]
    // Once for v1.0, once for 0.3.
    expect(card.supportedInterfaces.map((each) => each.url)).toEqual([...own, ...own])
    for (const address of own) expect(lines).toContain(address)
    expect(/gRPC/.test(lines)).toBe(grpc)
  })

  it('prints neither the key nor dialects that are not served', () => {
    const url = 'http://localhost:8001/'
    expect(bannerLines({ url, dialects: undefined, hasApiKey: false, hasGrpc: true })).toEqual([
      '  JSON-RPC   POST http://localhost:8001/',
      '  HTTP+JSON  POST http://localhost:8001/message:send',
      '  gRPC       localhost:8001',
      '  card       GET  http://localhost:8001/.well-known/agent-card.json',
    ])
    const behindTls = { url: 'https://agents.example/shout/', dialects: undefined, hasApiKey: false, hasGrpc: true }
    expect(bannerLines(behindTls)).toContain('  gRPC       agents.example:443')
    expect(bannerLines({ url, dialects: ['v0.3'], hasApiKey: false, hasGrpc: true })[1]).toContain('/v1/message:send')
    expect(bannerLines({ url, dialects: ['invoke'], hasApiKey: false, hasGrpc: true }).join('\n')).not.toMatch(
      /JSON-RPC|gRPC|card/,
    )
  })
})
