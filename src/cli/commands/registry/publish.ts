import { Command } from 'commander'
import { toPositive } from '../../agent-options.js'
import { readRawCard } from '../../raw-card.js'
import { addRegistryOptions, type RegistryOptions, withRegistry } from '../../registry-options.js'

interface Options extends RegistryOptions {
  readonly name?: string
  readonly tag?: readonly string[]
  readonly ttl?: number
  readonly instance?: string
}

export function publishCommand(): Command {
  return addRegistryOptions(
    new Command('publish')
      .description('Publish an agent: the card it serves, or one in a file')
      .argument('<ref>', 'the agent: host, URL, card URL, or the path of a card')
      .option('--name <name>', 'what it is found by (default: the name in the card)')
      .option('--tag <tag>', 'may be repeated', (tag: string, before: readonly string[] = []) => [...before, tag])
      .option('--instance <id>', 'tells instances of one version apart (default: the address in the card)')
      .option('--ttl <seconds>', 'forget it after this time (default: when it is withdrawn)', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry publish localhost:8001 --registry http://localhost:8848
  dragoman registry publish ./card.json --name weather --tag 天气

Agents that are served with --register do this by themselves.`,
    )
    .action(async (ref: string, options: Options) => {
      await withRegistry(options, async (registry, output) => {
        // The headers are for the registry, not for the agent.
        const { raw } = await readRawCard(ref, { output: options.output }, output)
        const card = raw as { readonly name?: unknown } // the registry looks at it closely
        const { tag, ttl, instance, name = String(card.name ?? '') } = options
        const published = await registry.publish(name, {
          card,
          ...(tag && { tags: tag }),
          ...(ttl !== undefined && { ttlSeconds: ttl }),
          ...(instance !== undefined && { instance }),
        })
        output.result(published, () =>
          output.said(`Published ${published.namespace}/${published.name} ${published.version}`),
        )
      })
    })
}
