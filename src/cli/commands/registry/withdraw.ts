import { Command } from 'commander'
import { addRegistryOptions, type RegistryOptions, withRegistry } from '../../registry-options.js'

interface Options extends RegistryOptions {
  readonly agentVersion?: string
  readonly instance?: string
}

export function withdrawCommand(): Command {
  return addRegistryOptions(
    new Command('withdraw')
      .description('Take an agent out of a registry, or one version, or one instance of it')
      .argument('<name>', 'what it is found by')
      .option('--agent-version <version>', 'only this version')
      .option('--instance <id>', 'only this instance'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry withdraw weather --registry http://localhost:8848
  dragoman registry withdraw weather --agent-version 1.0.0`,
    )
    .action(async (name: string, options: Options) => {
      await withRegistry(options, async (registry, output) => {
        const { agentVersion, instance } = options
        const withdrawn = await registry.withdraw(name, {
          ...(agentVersion !== undefined && { version: agentVersion }),
          ...(instance !== undefined && { instance }),
        })
        output.result({ withdrawn }, () => `Withdrew ${withdrawn} ${withdrawn === 1 ? 'instance' : 'instances'}`)
      })
    })
}
