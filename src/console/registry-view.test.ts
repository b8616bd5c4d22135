import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { createRegistryView } from './registry-view.js'

it('reconnects to a registry whose watch has gone silent', async () => {
  let watched = 0
  const silentServer = createServer((_request, response) => {
    watched += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"type":"published"}\n\n')
  })
  await new Promise<void>((resolve) => silentServer.listen(0, '127.0.0.1', resolve))
  const { port } = silentServer.address() as AddressInfo // it listens on TCP
  const received: unknown[] = []
  let isAgain: () => void = () => undefined
  const again = new Promise<void>((resolve) => {
    isAgain = resolve
  })
  const view = createRegistryView(`http://127.0.0.1:${port}`, {
    silenceMs: 20,
    onEvent(event) {
      received.push(event)
      if (watched > 1) isAgain()
    },
  })
  await again
  view.close()
  silentServer.closeAllConnections()
  silentServer.close()
  expect(received).toEqual([{ type: 'published' }, { type: 'lost' }, { type: 'published' }])
})
