import { Command } from 'commander'
import { toPositive } from '../../agent-options.js'
import { addRegistryOptions, agentsText, type RegistryOptions, withRegistry } from '../../registry-options.js'

interface Options extends RegistryOptions {
  readonly skill?: string
  readonly tag?: string
  readonly includeUnhealthy?: true
  readonly limit: number
  readonly cursor?: string
}

export function listCommand(): Command {
  return addRegistryOptions(
    new Command('list')
      .description('List the agents of a registry')
      .option('--skill <skill>', 'with this skill only: its id or its name')
      .option('--tag <tag>', 'with this tag only')
      .option('--include-unhealthy', 'also what does not answer')
      .option('--limit <n>', 'at most so many', toPositive, 50)
      .option('--cursor <cursor>', 'go on where another list ended'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry list --registry http://localhost:8848
  dragoman registry list --tag travel --include-unhealthy -o json`,
    )
    .action((options: Options) => findAgents(options))
}

/** What `list` and `search` have in common. */
export async function findAgents(options: Options & { readonly text?: string }): Promise<void> {
  const { text, skill, tag, limit, cursor, includeUnhealthy = false, namespace } = options
  await withRegistry(options, async (registry, output) => {
    const page = await registry.list({
      limit,
      includeUnhealthy,
      ...(namespace !== undefined && { namespace }),
      ...(text !== undefined && { text }),
      ...(skill !== undefined && { skill }),
      ...(tag !== undefined && { tag }),
      ...(cursor !== undefined && { cursor }),
    })
    output.result(page, () => output.said(agentsText(page.agents)))
    if (page.cursor !== undefined)
      output.note(`${page.agents.length} of ${page.total}; the next ones: --cursor ${page.cursor}`)
  })
}
