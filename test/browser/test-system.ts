/** Processes for the console: an agent, a registry that lists it, a workflow that uses it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ServerProcess, temporaryFolder } from '../process/server-process.js'
import { startConsole, startEcho, startProcess } from './console-process.js'

export interface TestSystem extends AsyncDisposable {
  readonly echo: ServerProcess
  readonly registry: ServerProcess
  readonly workflow: ServerProcess
  readonly console: ServerProcess
}

const [orchestrator, client] = ['orchestrator', 'client'].map(
  (entry) => new URL(`../../dist/${entry}/index.js`, import.meta.url).href,
)

/** A workflow with several steps and one question. */
function workflowModule(echo: string): string {
  return `import { connectAgents } from ${JSON.stringify(client)}
import { workflow } from ${JSON.stringify(orchestrator)}
const card = {
  name: 'Document',
  description: 'Has a document made',
  version: '1.0.0',
  skills: [{ id: 'make', name: 'Make', description: 'A topic', tags: [], examples: ['世界的河流', 'Rivers of the world'] }],
}
export const agent = workflow(card, async (flow) => {
  const outline = await flow.step('outline', { agent: 'Echo', message: '# Outline of ' + flow.text })
  const parts = await Promise.all([
    flow.step('introduction', { agent: 'Echo', message: 'chunks 5 20', after: [outline] }),
    flow.step('summary', { agent: 'Echo', message: ['Summary of', outline] }),
  ])
  await flow.ask('approval', 'Publish it?', {
    schema: {
      type: 'object',
      required: ['publish'],
      properties: { publish: { type: 'string', title: 'Publish now', enum: ['yes', 'no'] } },
    },
  })
  await flow.step('print', { agent: 'Echo', message: 'printed', after: parts })
  return '# Ready\\n\\nThe document is *ready*.'
}, { resolve: connectAgents({ Echo: ${JSON.stringify(echo)} }) })
`
}

export async function startTestSystem(): Promise<TestSystem> {
  const open: AsyncDisposable[] = []
  const keep = <T extends AsyncDisposable>(each: T): T => {
    open.unshift(each)
    return each
  }
  const close = async () => {
    for (const each of open) await each[Symbol.asyncDispose]()
  }
  try {
    const folder = keep(await temporaryFolder())
    const registry = keep(await startProcess(['registry', 'serve', '--port', '0', '--allow-private']))
    const echo = keep(await startEcho('--register', registry.url))
    await writeFile(join(folder.path, 'workflow.mjs'), workflowModule(echo.url))
    const workflow = keep(await startProcess(['serve', join(folder.path, 'workflow.mjs'), '--port', '0']))
    const console = keep(
      await startConsole('--agent', echo.url, '--registry', registry.url, '--workflow', workflow.url),
    )
    return { echo, registry, workflow, console, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}
