import { Command } from 'commander'
import { toPositive } from '../../agent-options.js'
import { addRegistryOptions, type RegistryOptions } from '../../registry-options.js'
import { findAgents } from './list.js'

export function searchCommand(): Command {
  return addRegistryOptions(
    new Command('search')
      .description('Find agents by words, in English or Chinese')
      .argument('<words...>', 'what the agent should be able to do')
      .option('--limit <n>', 'at most so many', toPositive, 10),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry search book a flight --registry http://localhost:8848
  dragoman registry search 天气预报`,
    )
    .action((words: readonly string[], options: RegistryOptions & { readonly limit: number }) =>
      findAgents({ ...options, text: words.join(' ') }),
    )
}
