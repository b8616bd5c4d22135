import { describe, expect, it } from 'vitest'
import { knownAgents, type ListedAgent, namedAs, placeOf, sameAgent } from './known-agents.js'

const listed = (name: string, ...urls: string[]): ListedAgent => ({
  namespace: 'public',
  name,
  version: '1.0.0',
  tags: [],
  instances: urls.map((url) => ({ instance: url, url, health: { state: 'healthy' } })),
})

describe('knownAgents()', () => {
  it('merges an agent that was added by address with its registry entry', () => {
    const known = knownAgents(
      [{ ref: 'http://localhost:8001', from: 'given' }],
      [listed('Echo', 'http://127.0.0.1:8001/'), listed('Other', 'http://127.0.0.1:8002/')],
    )
    expect(known.named).toMatchObject([{ ref: 'http://localhost:8001', listed: { name: 'Echo' } }])
    expect(known.others).toMatchObject([{ name: 'Other' }])
  })

  it('prefers the address of an agent that was added in both ways', () => {
    const refs = ['registry:public/Echo', 'http://localhost:8001/']
    for (const order of [refs, refs.toReversed()]) {
      const named = order.map((ref) => ({ ref, from: 'pasted' as const }))
      expect(knownAgents(named, [listed('Echo', 'http://localhost:8001')]).named).toMatchObject([
        { ref: 'http://localhost:8001/' },
      ])
    }
  })

  it('separates agents on one machine with different ports or paths', () => {
    const refs = ['http://localhost:1/a', 'http://localhost:1/b', 'http://localhost:2/a']
    expect(
      knownAgents(
        refs.map((ref) => ({ ref, from: 'pasted' })),
        [],
      ).named,
    ).toHaveLength(3)
  })
})

describe('sameAgent()', () => {
  it('finds an agent by any of its names', () => {
    const known = knownAgents([{ ref: 'localhost:8001', from: 'pasted' }], [listed('Echo', 'http://localhost:8001/')])
    for (const ref of [
      'registry:public/Echo',
      'http://127.0.0.1:8001',
      'http://localhost:8001/.well-known/agent-card.json',
    ])
      expect(sameAgent(known, ref)?.ref, ref).toBe('localhost:8001')
    expect(sameAgent(known, 'http://localhost:8002')).toBeUndefined()
  })

  it('finds an agent with a second registry name by its address', () => {
    const [first, second] = [listed('Echo', 'http://localhost:8001/'), listed('Second', 'http://localhost:8001/')]
    const known = knownAgents([{ ref: 'localhost:8001', from: 'pasted' }], [first, second])
    expect(known.others).toEqual([])
    expect(namedAs(known, second)?.ref).toBe('localhost:8001')
    expect(namedAs(known, listed('Third', 'http://localhost:8003'))).toBeUndefined()
  })
})

describe('placeOf()', () => {
  it('is equal for all names of loopback, and for no other host', () => {
    expect(new Set(['http://LOCALHOST:1/', '127.0.0.1:1', 'https://[::1]:1'].map(placeOf))).toEqual(
      new Set(['localhost:1']),
    )
    expect(placeOf('http://127.0.0.1.example:1')).toBe('127.0.0.1.example:1')
  })
})
