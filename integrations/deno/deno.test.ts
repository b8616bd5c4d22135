import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runScript } from '../script/run-script.js'
import { shouted } from '../script/shouted.js'
import { copyExample, startExample } from '../script/start-example.js'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const deno = at('node_modules/.bin/deno')

describe('Deno', () => {
  it('runs the script over three bindings, on SQLite', async () => {
    const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC']
    const lines = [`card: ${bindings.join(' ')}`, ...bindings.map((binding) => `good: ${binding}`), 'closed']
    expect(await runScript(deno, ['run', '-A'], bindings)).toEqual(lines)
  })

  it('runs the example', async () => {
    const example = copyExample('deno.ts', at('.'))
    await using server = await startExample(deno, ['run', '-A', example], at('.examples'))
    expect(await shouted(server.url)).toEqual(['HELLO', 'HELLO'])
  })

  it('serves a handler with `deno serve`', async () => {
    const example = copyExample('bun.ts', at('.'))
    await using server = await startExample(
      deno,
      ['serve', '-A', '--host=127.0.0.1', '--port=PORT', example],
      at('.examples'),
    )
    expect(await shouted(server.url)).toEqual(['HELLO', 'HELLO'])
  })
})
