import { Command } from 'commander'
import { type AgentOptions, addAgentOptions, refHelp, splitWords } from '../../agent-options.js'
import { type Difference, diffCards } from '../../card-diff.js'
import { onStdout } from '../../colours.js'
import { exitCodes } from '../../failure.js'
import { Output } from '../../output.js'
import { oneLine } from '../../printable.js'
import { readRawCard } from '../../raw-card.js'

interface Options extends AgentOptions {
  readonly exitCode?: true
}

export function diffCommand(): Command {
  return addAgentOptions(
    new Command('diff')
      .description('Compare two cards, member by member')
      .argument('[ref]', `${refHelp}; or the path of a JSON file`)
      .argument('[ref2]', 'the other one')
      .option('--exit-code', 'exit with 1 when they differ'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card diff ./agent-card.json https://agent.example
  dragoman card diff staging.example agent.example --exit-code`,
    )
    .action(async (first: string | undefined, second: string | undefined, options: Options) => {
      const [ref, ref2] = splitWords([first, second], options, ['another card to compare it with'])
      const output = new Output(options.output)
      const read = Promise.all([readRawCard(ref, options, output), readRawCard(ref2, options, output)])
      const [before, after] = await output.during('Reading', read)
      const differences = diffCards(before.raw, after.raw)
      output.result({ before: before.source, after: after.source, differences }, () =>
        differences.length === 0 ? 'The cards are the same' : differences.map(differenceText).join('\n'),
      )
      if (options.exitCode && differences.length > 0) process.exitCode = exitCodes.error
    })
}

function differenceText({ path, before, after }: Difference): string {
  const name = oneLine(path) || '(card)'
  if (before === undefined) return onStdout.green(`+ ${name}: ${shown(after)}`)
  if (after === undefined) return onStdout.red(`- ${name}: ${shown(before)}`)
  return `${onStdout.yellow(`~ ${name}:`)} ${shown(before)} → ${shown(after)}`
}

function shown(value: unknown): string {
  const json = oneLine(JSON.stringify(value))
  return json.length > 200 ? `${json.slice(0, 200)}…` : json
}
