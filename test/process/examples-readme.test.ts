/** Runs the curl commands of examples/README.md, on other ports. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { post, startAgent } from './agent-process.js'
import { temporaryFolder } from './server-process.js'

const readme = readFileSync(new URL('../../examples/README.md', import.meta.url), 'utf8')

const rows = [
  ...readme.matchAll(/\(agents\/([a-z]+)\.ts\) \| (\d+) \|.*`curl \S+ localhost:(\d+)(\S*) .* -d '(.*)'`/g),
].map(([, name = '', port = '', called = '', path = '', body = '']) => ({ name, port, called, path, body }))

describe('the README of the examples', () => {
  it('has a command for every agent, with its port', async () => {
    expect(rows.map(({ name }) => name)).toEqual(['outline', 'doc', 'summary', 'order', 'chat', 'travel', 'image'])
    for (const { name, port, called } of rows) {
      const module = (await import(`../../examples/agents/${name}.ts`)) as { readonly port: number }
      expect([port, called]).toEqual([String(module.port), String(module.port)])
    }
  })

  it.each(rows)('shows a working command for $name', async ({ name, path, body }) => {
    await using folder = await temporaryFolder()
    await using agent = await startAgent(name, { env: { DRAGOMAN_ORDERS: join(folder.path, 'orders.sqlite') } })
    const { status, text } = await post(`${agent.url}${path}`, body)
    expect([status, text]).toEqual([200, expect.stringMatching(/completed|COMPLETED|success/)])
  })
})
