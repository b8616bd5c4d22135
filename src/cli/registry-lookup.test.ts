import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { apiKey } from '../auth/index.js'
import { serveRegistry } from '../registry/index.js'
import { failureOf } from './failure.js'
import { findLocalRegistry } from './registry-lookup.js'

/** Starts a server that is not a registry. */
async function startStranger(status: number, body: string): Promise<Server & AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(server, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on a port
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  })
}

it('returns the first URL at which a registry answers, and skips other servers', async () => {
  await using page = await startStranger(200, '<html>')
  await using json = await startStranger(200, '{"status":"ok"}')
  await using lost = await startStranger(404, '{"agents":[]}')
  const registry = await serveRegistry({ port: 0 })
  try {
    expect(await findLocalRegistry([page.url, json.url, lost.url, registry.url])).toBe(registry.url)
  } finally {
    await registry.close()
  }
})

it('accepts a registry that requires credentials', async () => {
  const registry = await serveRegistry({ port: 0, auth: [apiKey('secret')] })
  try {
    expect(await findLocalRegistry([registry.url])).toBe(registry.url)
  } finally {
    await registry.close()
  }
})

it('says what to do if no registry answers', async () => {
  await using page = await startStranger(200, '<html>')
  const failed = failureOf(await findLocalRegistry([page.url]).catch((error: unknown) => error))
  expect(failed).toMatchObject({
    exitCode: 3,
    message: `No registry was given, and none answers at ${page.url}`,
    hint: expect.stringContaining('--registry URL'),
  })
})
