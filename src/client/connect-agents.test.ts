import { describe, expect, it } from 'vitest'
import { callBy, until } from '../testing/index.js'
import { connectAgents } from './connect-agents.js'
import { json, serveHttp } from './http-server.fixture.js'

describe('connectAgents', () => {
  it('shares a connection to an inline card', () => {
    const card = (name: string) => ({ name, url: 'http://127.0.0.1:9/', version: '1' })
    const agents = connectAgents({ Table: card('A') })
    expect(agents.to(card('A'))).toBe(agents.to(card('A')))
    expect(agents('Table')).toBe(agents.to(card('A')))
    expect(agents.to(card('B'))).not.toBe(agents.to(card('A')))
    expect(agents.to('http://127.0.0.1:9/')).not.toBe(agents.to(card('A')))
  })

  it('closes the least recently used connection when there are too many, but none that is in use', async () => {
    const card = (n: number) => ({
      name: `A${n}`,
      version: '1',
      supportedInterfaces: [{ url: `${peer.origin}/${n}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    })
    let answer: () => void = () => undefined
    await using peer = await serveHttp((request, response) => {
      if (request.path === '/0') answer = () => json(response, {})
      else json(response, {})
    })
    const agents = connectAgents()
    const [atWork, idle] = [agents.to(card(0)), agents.to(card(1))]
    const working = atWork.getTask({ id: 't' }, callBy()).catch(() => undefined)
    await until(() => peer.seen.some(({ path }) => path === '/0'))
    for (let n = 2; n < 300; n++) agents.to(card(n))
    expect(agents.to(card(0))).toBe(atWork)
    expect(agents.to(card(299))).toBe(agents.to(card(299)))
    expect(agents.to(card(1))).not.toBe(idle)
    // A caller that still holds the connection can use it.
    await expect(idle.getTask({ id: 't' }, callBy())).rejects.toMatchObject({ message: expect.any(String) })
    expect(peer.seen.some(({ path }) => path === '/1')).toBe(true)
    answer()
    await working
    await agents.close()
  })

  it('aborts the search for a card when it is closed', async () => {
    await using peer = await serveHttp(() => undefined)
    const agents = connectAgents()
    const call = agents.to(peer.origin).getTask({ id: 't' }, callBy())
    const outcome = expect(call).rejects.toMatchObject({ failure: 'aborted' })
    await until(() => peer.seen.length > 0)
    await agents.close()
    await outcome
  })
})
