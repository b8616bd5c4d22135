import { expect, it } from 'vitest'
import { runScript } from '../script/run-script.js'

const all = ['JSONRPC', 'HTTP+JSON', 'GRPC']
const lines = ['card: JSONRPC HTTP+JSON GRPC', 'good: JSONRPC', 'good: HTTP+JSON', 'good: GRPC', 'closed']

it('runs the script on the Node of this process', async () => {
  expect(await runScript(process.execPath, [], all)).toEqual(lines)
})

it('runs the script on Node 22', async () => {
  const node = new URL('node_modules/.bin/node', import.meta.url).pathname
  expect(await runScript(node, [], all)).toEqual(lines)
})
