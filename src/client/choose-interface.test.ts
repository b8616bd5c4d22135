import { describe, expect, it } from 'vitest'
import { outline as invoke } from '../dialects/invoke/outline.js'
import { outline as v0_1 } from '../dialects/v0_1/outline.js'
import { taskRestCard, v0_1Card, v0_3Card, v1Card } from './cards.fixture.js'
import { type CardOffer, chooseInterface, chooseWithoutCard, type InterfaceFilter } from './choose-interface.js'
import { readCard } from './read-card.js'

const origin = 'https://agent.example'
const offer = async (raw: object, rest: Partial<CardOffer> = {}): Promise<CardOffer> => ({
  ...(await readCard(raw)),
  origin,
  url: `${origin}/.well-known/agent-card.json`,
  ...rest,
})
const choose = async (raw: object, wishes: Partial<InterfaceFilter> = {}, rest: Partial<CardOffer> = {}) =>
  chooseInterface(await offer(raw, rest), { hasGrpc: true, ...wishes })
const spell = async (raw: object, wishes: Partial<InterfaceFilter> = {}, rest: Partial<CardOffer> = {}) =>
  (await choose(raw, wishes, rest)).map(({ dialect, binding, url }) => `${dialect} ${binding} ${url}`)

const many = v1Card(origin, {
  supportedInterfaces: [
    { url: 'agent.example:50051', protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: 't' },
    { url: `${origin}/x`, protocolBinding: 'https://custom.example/binding', protocolVersion: '1.0' },
    { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0.1' },
    { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3.0' },
    { url: `${origin}/next`, protocolBinding: 'JSONRPC', protocolVersion: '2.0' },
  ],
})

describe('chooseInterface', () => {
  it('chooses the first supported interface in card order (R-CARD-4, R-CB-3, RM-CARD-4, RM-CARD-5)', async () => {
    expect(await spell(many)).toEqual([
      'v1 GRPC agent.example:50051',
      `v1 HTTP+JSON ${origin}/rest`,
      `v1 JSONRPC ${origin}/rpc`,
      `v0.3 JSONRPC ${origin}/old`,
    ])
    expect((await spell(many, { hasGrpc: false }))[0]).toBe(`v1 HTTP+JSON ${origin}/rest`)
  })

  it('reports the reason for each interface', async () => {
    const [first] = await choose(many, { hasGrpc: false })
    expect(first?.reasons).toEqual([
      'Passed over GRPC 1.0 at agent.example:50051: gRPC is not available',
      `Passed over https://custom.example/binding 1.0 at ${origin}/x: its binding is not supported`,
      `Took HTTP+JSON 1.0.1 at ${origin}/rest`,
      `Kept JSONRPC 1.0 at ${origin}/rpc as a fallback`,
      `Kept JSONRPC 0.3.0 at ${origin}/old as a fallback`,
      `Passed over JSONRPC 2.0 at ${origin}/next: its version is not supported`,
    ])
    expect(first?.rejected).toEqual([
      { index: 0, cause: 'unsupported', problem: 'gRPC is not available' },
      { index: 1, cause: 'unsupported', problem: 'its binding is not supported' },
      { index: 5, cause: 'unsupported', problem: 'its version is not supported' },
    ])
    expect((await choose(many, { binding: 'JSONRPC' }))[0]?.rejected?.[0]).toMatchObject({ index: 0, cause: 'option' })
  })

  it('keeps the tenant of the chosen entry (R-TEN-1)', async () => {
    const [first, second] = await choose(many)
    expect(first?.tenant).toBe('t')
    expect(second).not.toHaveProperty('tenant')
  })

  it('applies the requested dialect and binding', async () => {
    expect(await spell(many, { binding: 'JSONRPC' })).toEqual([
      `v1 JSONRPC ${origin}/rpc`,
      `v0.3 JSONRPC ${origin}/old`,
    ])
    expect(await spell(many, { dialect: 'v0.3' })).toEqual([`v0.3 JSONRPC ${origin}/old`])
    expect(await spell(many, { protocol: '0.3' })).toEqual([`v0.3 JSONRPC ${origin}/old`])
    await expect(spell(many, { dialect: 'v0.3', binding: 'GRPC' })).rejects.toThrow(
      'offers no interface that can be used',
    )
  })

  it('does not choose an older version when pinned (RM-CARD-4)', async () => {
    const mixed = v1Card(origin, {
      supportedInterfaces: [
        { url: `${origin}/old`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        { url: 'agent.example:1', protocolBinding: 'GRPC', protocolVersion: '1.0' },
      ],
    })
    expect(await spell(mixed)).toHaveLength(2)
    expect(await spell(mixed, { pin: true })).toEqual(['v1 GRPC agent.example:1'])
    expect((await choose(mixed, { pin: true }))[0]?.rejected).toMatchObject([{ index: 0, cause: 'option' }])
    await expect(choose(mixed, { pin: true, hasGrpc: false })).rejects.toThrow('allows nothing older')
    expect(await spell(mixed, { pin: true, dialect: 'v0.3', hasGrpc: false })).toEqual([`v0.3 JSONRPC ${origin}/old`])
  })

  it('reads the interfaces of 0.3, the preferred one first (R3-CARD-5)', async () => {
    const raw = v0_3Card(`${origin}/rpc`, {
      additionalInterfaces: [
        { url: `${origin}/rest`, transport: 'HTTP+JSON' },
        { url: `${origin}/rpc`, transport: 'JSONRPC' },
      ],
    })
    expect(await spell(raw)).toEqual([`v0.3 JSONRPC ${origin}/rpc`, `v0.3 HTTP+JSON ${origin}/rest`])
    expect(await spell(v0_3Card(origin, { protocolVersion: '0.2.5' }))).toEqual([`v0.3 JSONRPC ${origin}`])
  })

  it('returns fallbacks if the card has no version (RM-CARD-3)', async () => {
    expect(await spell(v0_1Card(origin))).toEqual([`v0.1 JSONRPC ${origin}`, `v0.3 JSONRPC ${origin}`])
    expect(await spell(v0_1Card(origin, { securitySchemes: {} }))).toEqual([
      `v0.3 JSONRPC ${origin}`,
      `v0.1 JSONRPC ${origin}`,
    ])
    expect((await spell(taskRestCard(origin)))[0]).toBe(`task-rest HTTP+JSON ${origin}`)
    expect((await spell(v0_1Card(origin, { iconUri: 'https://x.example' })))[0]).toBe(`v0.1-go JSONRPC ${origin}`)
    expect((await choose(v0_1Card(origin)))[0]?.isGuess).toBe(true)
    expect((await choose(many))[0]?.isGuess).toBe(false)
    expect(await spell(v0_1Card(origin), { pin: true })).toHaveLength(1)
  })

  it('uses a requested dialect that no card declares (RL-ALL-5)', async () => {
    expect(await spell(v0_1Card(origin), { dialect: 'task-rest' })).toEqual([`task-rest HTTP+JSON ${origin}`])
    expect(await spell(v0_1Card(origin), { dialect: 'v0.1-go' })).toEqual([`v0.1-go JSONRPC ${origin}`])
    expect(await spell(v0_3Card(origin), { dialect: 'chat-rpc' })).toEqual([`chat-rpc JSONRPC ${origin}`])
    await expect(spell(v1Card(origin), { dialect: 'chat-rpc' })).rejects.toThrow('only chat-rpc was asked for')
  })

  describe('other origins', () => {
    const at = (url: string, protocolBinding = 'JSONRPC') =>
      v1Card(origin, { supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0' }] })

    it.each([
      ['another host', at('https://evil.example/rpc')],
      ['a host that looks alike', at('https://agent.example.evil.test/rpc')],
      ['this machine', at('http://127.0.0.1/rpc')],
      ['the metadata of a cloud', at('http://169.254.169.254/latest')],
      ['another host over gRPC', at('evil.example:443', 'GRPC')],
      ['the clear', at('http://agent.example/rpc')],
      ['no address', at('http://')],
      ['another scheme', at('file:///etc/passwd')],
      ['a script', at('javascript:alert(1)')],
    ])(
      'are skipped: %s',
      async (_, raw) => await expect(choose(raw)).rejects.toThrow('offers no interface that can be used'),
    )

    it('are skipped in favour of an interface at the origin of the card', async () => {
      const raw = v1Card(origin, {
        supportedInterfaces: [
          { url: 'https://evil.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
          { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      })
      expect(await spell(raw)).toEqual([`v1 JSONRPC ${origin}/rpc`])
      expect((await choose(raw))[0]?.reasons[0]).toContain(
        'add https://evil.example to `allowedOrigins` if that is right',
      )
    })

    it('are accepted if allowed, if only the port differs, or if the user passed the card', async () => {
      expect(await spell(at('https://other.example/rpc'), { allowedOrigins: ['https://other.example/'] })).toHaveLength(
        1,
      )
      expect(await spell(at('other.example:50051', 'GRPC'), { allowedOrigins: ['other.example:50051'] })).toHaveLength(
        1,
      )
      expect(await spell(at('https://other.example/rpc'), { allowedOrigins: ['*'] })).toHaveLength(1)
      await expect(
        choose(at('https://other.example:8/'), { allowedOrigins: ['https://other.example'] }),
      ).rejects.toThrow()
      expect(await spell(at('https://agent.example:8443/rpc'))).toHaveLength(1)
      expect(chooseInterface(await readCard(at('https://other.example/rpc')), { hasGrpc: false })).toHaveLength(1)
    })

    it('recognises the names of the local host', async () => {
      const local = { origin: 'http://localhost:8001', url: 'http://localhost:8001/.well-known/agent-card.json' }
      expect(await spell(at('http://127.0.0.1:9000/rpc'), {}, local)).toHaveLength(1)
      expect(await spell(at('http://0.0.0.0:8001/'), {}, local)).toHaveLength(1)
    })

    it('resolves relative addresses against the card', async () => {
      expect(await spell(at('/rpc'))).toEqual([`v1 JSONRPC ${origin}/rpc`])
      await expect(choose(at('//evil.example/rpc'))).rejects.toThrow('evil.example')
    })
  })
})

describe('chooseWithoutCard', () => {
  it('uses the given URL and dialect', () => {
    expect(chooseWithoutCard(origin, invoke, undefined)).toMatchObject({
      dialect: 'invoke',
      binding: 'HTTP+JSON',
      url: origin,
    })
    expect(chooseWithoutCard(origin, invoke, 'JSONRPC').binding).toBe('JSONRPC')
    expect(() => chooseWithoutCard(origin, v0_1, 'GRPC')).toThrow('v0.1 is not supported over GRPC')
  })
})
