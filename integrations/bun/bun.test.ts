import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serve } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { counter } from '../script/counter.mjs'
import { runScript } from '../script/run-script.js'
import { shouted } from '../script/shouted.js'
import { copyExample, startExample } from '../script/start-example.js'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const bun = at('node_modules/.bin/bun')

async function outputOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(bun, [...args], { cwd: at('.'), timeout: 60_000 })
  return stdout.trim().split('\n')
}

describe('Bun', () => {
  it('runs the script over HTTP; the card lists no gRPC', async () => {
    const lines = ['card: JSONRPC HTTP+JSON', 'good: JSONRPC', 'good: HTTP+JSON', 'closed']
    expect(await runScript(bun, [], ['JSONRPC', 'HTTP+JSON'])).toEqual(lines)
  })

  it('rejects gRPC with the reason', async () => {
    const code = `
      import { agent, serve } from 'dragoman'
      const shout = agent('Shout', async function* () {})
      await serve(shout, { advanced: { grpc: true } }).catch((error) => console.log(error.message))`
    const reason = 'Bun 1.4.4 cannot serve HTTP/2 on a port that also serves HTTP/1.1'
    expect(await outputOf('-e', code)).toEqual([
      `\`advanced.grpc: true\` is not supported on this runtime: ${reason}. Leave it out`,
    ])
  })

  it('calls an agent on Node over gRPC', async () => {
    await using served = await serve(counter)
    const code = `
      import { visit } from ${JSON.stringify(at('../script/visit.mjs'))}
      await visit(${JSON.stringify(served.url)}, 'GRPC')
      console.log('good')`
    expect(await outputOf('-e', code)).toEqual(['good'])
  })

  it('reaches no server on this machine through a guarded dialer, and closes the dialer', async () => {
    const refused = Array.from({ length: 6 }, () => 'AddressRefused')
    expect(await outputOf('guard.mjs')).toEqual([...refused, 'The dialer is closed', 'calls: 0', 'secret'])
  })

  it('does not dial with a module that is not undici', async () => {
    const refused = Array.from({ length: 6 }, () => expect.stringContaining('is not the npm package'))
    const lines = await outputOf('--preload', './replace-undici.mjs', 'guard.mjs')
    expect(lines).toEqual([...refused, 'The dialer is closed', 'calls: 0', expect.stringContaining('not the npm')])
  })

  it('runs the example', async () => {
    const example = copyExample('bun.ts', at('.'))
    await using server = await startExample(bun, [example], at('.examples'))
    expect(await shouted(server.url)).toEqual(['HELLO', 'HELLO'])
  })
})
