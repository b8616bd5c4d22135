/** Builds an application with the example and with the agent of the script, and serves it with `next start`. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { shouted } from '../script/shouted.js'
import { copyExample, startExample } from '../script/start-example.js'
import { visit } from '../script/visit.mjs'

const folder = fileURLToPath(new URL('.', import.meta.url))
const next = join(folder, 'node_modules/next/dist/bin/next')

const route = `
import { createHandler, nextMount } from 'dragoman/server'
import { counter } from '../../../counter.mjs'

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nextMount(() =>
  createHandler(counter, { publicUrl: process.env.COUNTER_URL, store: 'sqlite:counter.sqlite' }),
)
`

const layout = `export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>
}
`

it('Next.js builds and serves the example, and the script passes', async () => {
  const app = join(folder, 'app')
  rmSync(app, { recursive: true, force: true })
  copyExample('next-route.ts', folder, 'app/api/a2a/[[...path]]/route.js')
  const counter = join(app, 'api/counter/[[...path]]')
  mkdirSync(counter, { recursive: true })
  writeFileSync(join(counter, 'route.js'), route)
  writeFileSync(join(app, 'layout.jsx'), layout)
  cpSync(fileURLToPath(new URL('../script/counter.mjs', import.meta.url)), join(app, 'counter.mjs'))
  await promisify(execFile)(process.execPath, [next, 'build'], { cwd: folder })

  const env = { PUBLIC_URL: 'http://localhost:PORT/api/a2a', COUNTER_URL: 'http://localhost:PORT/api/counter' }
  await using server = await startExample(process.execPath, [next, 'start', '-p', 'PORT'], folder, {
    path: '/api/a2a',
    env,
  })
  expect(await shouted(server.url)).toEqual(['HELLO', 'HELLO'])
  for (const binding of ['JSONRPC', 'HTTP+JSON']) await visit(server.url.replace('/a2a', '/counter'), binding)
})
