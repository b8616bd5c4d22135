import { Command } from 'commander'
import {
  type AgentOptions,
  addAgentOptions,
  refHelp,
  splitWords,
  toCount,
  toSeconds,
  withAgent,
} from '../../agent-options.js'
import { filesOf } from '../../artifact-files.js'
import { byteSize, oneLine } from '../../printable.js'
import { saveFiles } from '../../save-files.js'

interface Options extends AgentOptions {
  readonly out: string
  readonly force?: true
  readonly links?: true
  readonly maxFiles: number
  readonly maxBytes: number
  readonly maxSeconds: number
}

export function downloadCommand(): Command {
  return addAgentOptions(
    new Command('download')
      .description('Write the artifacts of a task into a folder: text, data and files')
      .argument('[ref]', refHelp)
      .argument('[id]', 'of the task')
      .option('--out <folder>', 'where to; made when it is not there', '.')
      .option('--links', 'fetch what the artifacts only link to, without any credentials')
      .option('--max-files <count>', 'the most links that --links fetches', toCount, 100)
      .option('--max-bytes <bytes>', 'the most bytes that they may have together', toCount, 1024 ** 3)
      .option('--max-seconds <seconds>', 'the longest that they may take together', toSeconds, 600)
      .option('--force', 'overwrite files that are there already'),
  )
    .addHelpText('after', '\nExample:\n  dragoman task download localhost:8001 0193… --out ./report')
    .action(async (first: string | undefined, second: string | undefined, options: Options) => {
      const [ref, id] = splitWords([first, second], options, ['the id of a task'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await output.during('Reading', agent.task(id).get())
        const saved = await output.during(
          'Saving',
          saveFiles(filesOf(task), { ...options, agentUrl: agent.choice.url }),
        )
        output.result({ files: saved }, () =>
          saved.length === 0
            ? 'There are no artifacts'
            : saved
                .map((each) => ('path' in each ? `${each.path} (${byteSize(each.bytes)})` : oneLine(each.url)))
                .join('\n'),
        )
        if (saved.some((each) => 'url' in each && !('path' in each)))
          output.note('Addresses are links that were not followed: --links fetches them')
      })
    })
}
