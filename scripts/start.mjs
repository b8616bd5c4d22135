// `npm start`: prepares a clean clone, then runs the demonstration in this process, so that a signal ends all of it.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ready = fileURLToPath(new URL('ready.mjs', import.meta.url))
const { status } = spawnSync(process.execPath, [ready, '--build'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
const { main } = await import('../dist/examples/system/main.js')
await main(process.argv.slice(2))
