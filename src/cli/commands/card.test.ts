import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffCards } from './card.js'

describe('diffCards', () => {
  it('reports added, removed and changed fields by path', () => {
    const before = { name: 'A', gone: 1, capabilities: { streaming: true } }
    const after = { name: 'B', capabilities: { streaming: true, pushNotifications: true } }
    expect(diffCards(before, after)).toEqual([
      { path: 'name', before: 'A', after: 'B' },
      { path: 'gone', before: 1 },
      { path: 'capabilities.pushNotifications', after: true },
    ])
  })

  it('matches skills, interfaces and strings by name, at any position', () => {
    const one = { id: 'one', name: '1' }
    const two = { id: 'two', name: '2' }
    const rpc = { protocolBinding: 'JSONRPC', protocolVersion: '1.0', url: 'https://a.example' }
    const rest = { ...rpc, protocolBinding: 'HTTP+JSON' }
    const before = { skills: [one, two], supportedInterfaces: [rpc, rest], tags: ['a', 'b'] }
    const after = { skills: [two, { ...one, name: '!' }], supportedInterfaces: [rest, rpc], tags: ['b', 'a', 'c'] }
    expect(diffCards(before, after)).toEqual([
      { path: 'skills[one].name', before: '1', after: '!' },
      { path: 'tags[c]', after: 'c' },
    ])
  })

  it('compares by position if names are missing or not unique', () => {
    expect(diffCards({ list: [{ id: 'a' }, { id: 'a', x: 1 }] }, { list: [{ id: 'a' }, { id: 'a', x: 2 }] })).toEqual([
      { path: 'list[1].x', before: 1, after: 2 },
    ])
  })

  it('finds no difference between equal values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (card) => {
        expect(diffCards(card, structuredClone(card))).toEqual([])
      }),
    )
  })
})
