/** Runs the examples of docs/integrations/langgraph.md. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transformSync } from 'rolldown/utils'
import { expect, it } from 'vitest'
import { startExample } from '../script/start-example.js'

const folder = fileURLToPath(new URL('.examples', import.meta.url))
const page = readFileSync(new URL('../../docs/integrations/langgraph.md', import.meta.url), 'utf8')

/** Writes the snippet `NAME.ts` of the page without types, and with another port. */
function write(name: string, port: string): string {
  const [, code = ''] = new RegExp(`\`\`\`ts\\n// ${name}\\.ts\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  const path = `${folder}/${name}.mjs`
  writeFileSync(path, transformSync(`${name}.ts`, code.replaceAll('8001', port)).code)
  return path
}

async function run(name: string, port: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, [write(name, port)], { cwd: folder, timeout: 60_000 })).stdout
}

it('docs/integrations/langgraph.md shows a graph, a node and tools that work', async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  // The port is known when the server starts.
  await using server = await startExample(process.execPath, [write('server', 'Number(process.env.PORT)')], folder)
  const { port } = new URL(server.url)
  expect(await run('client', port)).toBe('Which size?\nA suit in 48\n')
  expect(await run('node', port)).toBe('Which size?\nA suit in 48\n')
  expect(await run('tools', port)).toMatch(
    /^Tailor\n\{"state":"input-required","question":"Which size\?","taskId":"\S+"\}\n$/,
  )
})
