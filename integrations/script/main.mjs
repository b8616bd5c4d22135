// Serves the counter on SQLite and visits it over the bindings that are named as arguments, in one process. The process
// ends by itself if everything was closed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from 'dragoman'
import { counter } from './counter.mjs'
import { visit } from './visit.mjs'

const folder = mkdtempSync(join(tmpdir(), 'dragoman-script-'))
const served = await serve(counter, { store: `sqlite:${join(folder, 'tasks.sqlite')}` })
const card = await (
  await fetch(`${served.url}.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
).json()
console.log(`card: ${[...new Set(card.supportedInterfaces.map((each) => each.protocolBinding))].join(' ')}`)
for (const binding of process.argv.slice(2)) {
  await visit(served.url, binding)
  console.log(`good: ${binding}`)
}
await served.close({ deadlineMs: 5000 })
rmSync(folder, { recursive: true })
console.log('closed')
