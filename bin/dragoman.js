#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'

const main = new URL('../dist/cli/main.js', import.meta.url)
if (!existsSync(main)) {
  console.error('dragoman: not built yet; in a clone, run `npm start` once, or `npm ci && npm run build`')
  process.exit(1)
}
// Most of the time of a short command goes into reading modules. Node 20 has no such cache.
module.enableCompileCache?.()
const { run } = await import(main.href)
await run(process.argv)
