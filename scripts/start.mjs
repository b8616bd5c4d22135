// `npm start`: makes a clean clone ready, then serves, in this one process: a signal to it reaches the server.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ready = fileURLToPath(new URL('ready.mjs', import.meta.url))
const { status } = spawnSync(process.execPath, [ready, '--build'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
process.argv.splice(2, 0, 'serve', '--echo', '--port', '8001')
await import('../bin/dragoman.js')
