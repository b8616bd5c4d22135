import { Command } from 'commander'
import { TransportError } from '../../../client/index.js'
import type { RegistryEvent } from '../../../registry/index.js'
import { toCount, toPositive } from '../../agent-options.js'
import { oneLine } from '../../printable.js'
import { addRegistryOptions, type RegistryOptions, withRegistry } from '../../registry-options.js'

interface Options extends RegistryOptions {
  readonly after?: number
  readonly name?: string
  readonly count?: number
}

export function watchCommand(): Command {
  return addRegistryOptions(
    new Command('watch')
      .description('Follow what happens in a registry')
      .option('--after <revision>', 'go on behind this revision; 0 shows everything there is first', toCount)
      .option('--name <name>', 'only this agent')
      .option('--count <n>', 'end after so many events', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman registry watch --registry http://localhost:8848
  dragoman registry watch --after 0 --count 10 -o json

With -o json every event is a JSON line with its revision. A stream that breaks ends the command with exit code 3;
the last revision is where to go on.`,
    )
    .action(async (options: Options) => {
      const { after, name, namespace, count = Number.POSITIVE_INFINITY } = options
      await withRegistry(options, async (registry, output) => {
        const wanted = {
          ...(after !== undefined && { after }),
          ...(name !== undefined && { name }),
          ...(namespace !== undefined && { namespace }),
        }
        let left = count
        for await (const { revision, event } of registry.watch(wanted)) {
          output.piece({ revision, ...event }, () => `${output.said(lineOf(revision, event))}\n`)
          left -= 1
          if (left <= 0) return
        }
        throw new TransportError('broken-stream', 'The registry has ended the stream')
      })
    })
}

function lineOf(revision: number, event: RegistryEvent): string {
  if (!('name' in event)) return `${revision} ${event.type}`
  const more = 'state' in event ? event.state : 'url' in event ? event.url : 'latest' in event ? event.latest : ''
  return oneLine(`${revision} ${event.type} ${event.namespace}/${event.name} ${more}`.trimEnd())
}
