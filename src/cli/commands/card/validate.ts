import { Command } from 'commander'
import { type CardReport, validateCard } from '../../../server/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords } from '../../agent-options.js'
import { onStdout } from '../../colours.js'
import { exitCodes } from '../../failure.js'
import { Output } from '../../output.js'
import { oneLine, table } from '../../printable.js'
import { readRawCard } from '../../raw-card.js'

export function validateCommand(): Command {
  return addAgentOptions(
    new Command('validate')
      .description('Check a card by the rules of its version; exit code 1 when it breaks one')
      .argument('[ref]', `${refHelp}; or the path of a JSON file`),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card validate localhost:8001
  dragoman card validate ./agent-card.json -o json`,
    )
    .action(async (first: string | undefined, options: AgentOptions) => {
      const [ref] = splitWords([first], options, [])
      const output = new Output(options.output)
      const { raw, source } = await output.during('Reading', readRawCard(ref, options, output))
      const report = validateCard(raw)
      output.result({ source, ...report }, () => reportText(report, source))
      if (!report.isValid) process.exitCode = exitCodes.error
    })
}

function reportText({ version, problems, isValid }: CardReport, source: string): string {
  const name = version === 'unknown' ? 'a card of no known version' : `a ${version} card`
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const counts = [`${errors} ${errors === 1 ? 'error' : 'errors'}`, `${problems.length - errors} warnings`].join(', ')
  const verdict = isValid ? onStdout.green('valid') : onStdout.red('not valid')
  const head = `${oneLine(source)}: ${name}, ${verdict}${problems.length > 0 ? ` (${counts})` : ''}`
  const rows = problems.map(({ severity, path, message, requirement }) => [
    // Colour has no width, and tables count characters: both words get the same.
    severity === 'error' ? onStdout.red('error  ') : onStdout.yellow('warning'),
    oneLine(path) || '(card)',
    `${oneLine(message)} (${requirement})`,
  ])
  return [head, ...(rows.length > 0 ? [table(rows)] : [])].join('\n')
}
