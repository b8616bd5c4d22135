/** The handler in other people's servers. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { agent } from 'dragoman'
import { createHandler, expressMount, fastifyMount, type Handler, toNodeListener } from 'dragoman/server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'

const shout = agent('Shout', async function* ({ text }) {
  for (const word of text.split(' ')) yield `${word.toUpperCase()} `
})

const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello there' }] }

interface Mounted {
  readonly url: string
  close(): Promise<void>
}

/** What every mount must do: the card, a call on both bindings, a stream, an error. */
async function check(url: string): Promise<void> {
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { name: string }
  expect(card.name).toBe('Shout')
  const rpc = await post(url, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  expect(await rpc.json()).toMatchObject({ id: 1, result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  const rest = await post(`${url}/message:send`, { message })
  expect(await rest.json()).toMatchObject({
    task: { artifacts: [{ parts: [{ text: 'HELLO ' }, { text: 'THERE ' }] }] },
  })
  const stream = await post(`${url}/message:stream`, { message })
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  expect((await stream.text()).match(/^data: /gm)).toHaveLength(4)
  expect((await fetch(`${url}/tasks/none`)).status).toBe(404)
}

function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify(body),
  })
}

function portOf(server: { address(): string | AddressInfo | null }): number {
  return (server.address() as AddressInfo).port
}

async function onNode(handler: Handler): Promise<Mounted> {
  const server = createServer(toNodeListener(handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function onExpress(handler: Handler): Promise<Mounted> {
  const app = express()
  app.get('/other', (_request, response) => {
    response.send('other')
  })
  app.use('/agents/shout', expressMount(handler))
  const server = await new Promise<ReturnType<typeof app.listen>>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  return {
    url: `http://127.0.0.1:${portOf(server)}/agents/shout`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function onFastify(handler: Handler): Promise<Mounted> {
  const app = fastify()
  await app.register(fastifyMount(handler), { prefix: '/agents/shout' })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: `${address}/agents/shout`, close: () => app.close() }
}

async function onHono(handler: Handler): Promise<Mounted> {
  const app = new Hono()
  app.mount('/agents/shout', (request) => handler.fetch(request))
  const mounted = await onNode({ ...handler, fetch: async (request) => await app.fetch(request) })
  return { ...mounted, url: `${mounted.url}/agents/shout` }
}

describe('mounts', () => {
  it.each([
    ['node:http', onNode],
    ['Express', onExpress],
    ['Fastify', onFastify],
    ['Hono', onHono],
  ])('work in %s', async (_name, mount) => {
    const handler = await createHandler(shout, { publicUrl: 'https://agents.example/shout' })
    const mounted = await mount(handler)
    try {
      await check(mounted.url)
    } finally {
      await mounted.close()
      await handler.close()
    }
  })
})
