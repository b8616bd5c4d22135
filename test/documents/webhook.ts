/** A webhook on this machine that keeps the tasks it receives. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { eventually } from '../hostile/waiting.js'

interface ReceivedTask {
  readonly id: string
  readonly status: { readonly state: string }
}

export async function startWebhook() {
  const tasks: ReceivedTask[] = []
  const server = createServer((request, response) => {
    text(request).then((body) => {
      tasks.push(JSON.parse(body) as ReceivedTask)
      response.end()
    }, console.error)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    /** Waits for a task that fits. */
    received: (fits: (task: ReceivedTask) => boolean) => eventually(20_000, 'a delivery', () => tasks.find(fits)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
