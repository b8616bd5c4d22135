import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { shouted } from '../script/shouted.js'
import { copyExample, startExample } from '../script/start-example.js'

it('NestJS runs the example', async () => {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  // The example is JavaScript, except for the name of its file: Node 20 runs no TypeScript.
  const example = copyExample('nest.ts', folder, '.examples/nest.mjs')
  await using server = await startExample(process.execPath, [example], folder, { path: '/a2a' })
  expect(await shouted(server.url)).toEqual(['HELLO', 'HELLO'])
  expect((await fetch(new URL('/other', server.url))).status).toBe(404)
})
