import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { createRegistryView } from './registry-view.js'

it('asks a registry again that has stopped to say anything', async () => {
  let watched = 0
  const mute = createServer((_request, response) => {
    watched += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"type":"published"}\n\n')
  })
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const { port } = mute.address() as AddressInfo // it listens
  const heard: unknown[] = []
  let isAgain: () => void = () => undefined
  const again = new Promise<void>((resolve) => {
    isAgain = resolve
  })
  const view = createRegistryView(`http://127.0.0.1:${port}`, {
    silenceMs: 20,
    onEvent(event) {
      heard.push(event)
      if (watched > 1) isAgain()
    },
  })
  await again
  view.close()
  mute.closeAllConnections()
  mute.close()
  expect(heard).toEqual([{ type: 'published' }, { type: 'lost' }, { type: 'published' }])
})
