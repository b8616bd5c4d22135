/** The time until a process is ready, beyond the time of an empty script. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { defineQuestion, type Figures } from './question.ts'

// The same paths from the sources and from the compiled output.
const cli = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url))
const root = pathToFileURL(fileURLToPath(new URL('../../', import.meta.url))).href

/** The agent of the README, on SQLite. */
const agentScript = (database: string) => `
import { agent, serve } from 'dragoman'
const shout = agent('Shout', async function* ({ text }) { yield text.toUpperCase() })
await serve(shout, { store: ${JSON.stringify(`sqlite:${database}`)} })
console.log('ready')
process.exit()
`

export const startup = defineQuestion({
  name: 'startup',
  title: 'Time from the start of `node` to readiness',
  rounds: { full: 15, quick: 3 },
  columns: [{ key: 'ms', title: 'ms' }],
  settings: () => ({}),
  entries: () => [
    { id: 'empty', server: 'bare', title: 'an empty script', measure: () => measureScript('') },
    {
      id: 'agent',
      server: 'dragoman-sqlite',
      title: 'a five-line agent on SQLite, listening',
      measure: () => measureScript(agentScript),
    },
    {
      id: 'version',
      server: 'dragoman-memory',
      title: '`dragoman --version`',
      measure: async () => ({ ms: await runMs([cli, '--version']) }),
    },
  ],
  budgets: ({ median }) => [
    {
      what: 'a five-line agent on SQLite, ready: over an empty script',
      value: median('agent', 'ms') - median('empty', 'ms'),
      atMost: 250,
      unit: ' ms',
    },
    {
      what: '`dragoman --version`: over an empty script',
      value: median('version', 'ms') - median('empty', 'ms'),
      atMost: 150,
      unit: ' ms',
    },
  ],
})

async function measureScript(script: string | ((database: string) => string)): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
  try {
    const text = typeof script === 'string' ? script : script(join(folder, 'tasks.db'))
    const file = join(folder, 'agent.mjs')
    // Resolved from here: the folder has no `node_modules`.
    await writeFile(file, text.replaceAll("'dragoman'", JSON.stringify(new URL('dist/index.js', root).href)))
    return { ms: await runMs([file]) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The time until the process has exited. */
async function runMs(args: readonly string[]): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`node ${args.join(' ')} exited with code ${code}`)
  return performance.now() - startedAt
}
