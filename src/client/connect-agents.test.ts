import { describe, expect, it } from 'vitest'
import { connectAgents } from './connect-agents.js'

describe('agents by name', () => {
  it('share a connection to a card, also when it is written out each time', () => {
    const card = (name: string) => ({ name, url: 'http://127.0.0.1:9/', version: '1' })
    const agents = connectAgents({ Table: card('A') })
    expect(agents.to(card('A'))).toBe(agents.to(card('A')))
    expect(agents('Table')).toBe(agents.to(card('A')))
    expect(agents.to(card('B'))).not.toBe(agents.to(card('A')))
    expect(agents.to('http://127.0.0.1:9/')).not.toBe(agents.to(card('A')))
  })
})
