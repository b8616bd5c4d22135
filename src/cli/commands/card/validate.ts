import { Command } from 'commander'
import type { Verification } from '../../../client/index.js'
import { type CardReport, validateCard } from '../../../server/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords } from '../../agent-options.js'
import { signatureText } from '../../card-text.js'
import { onStdout } from '../../colours.js'
import { exitCodes } from '../../failure.js'
import { Output } from '../../output.js'
import { oneLine, table } from '../../printable.js'
import { readRawCard } from '../../raw-card.js'
import { readTrustedKeys } from '../../signing-keys.js'

interface Options extends AgentOptions {
  readonly keys?: string
}

export function validateCommand(): Command {
  return addAgentOptions(
    new Command('validate')
      .description('Check a card by the rules of its version, and its signature; exit code 1 when either is wrong')
      .argument('[ref]', `${refHelp}; or the path of a JSON file`)
      .option('--keys <path>', 'keys that are trusted, as a JWK or a set of them; otherwise those of the card’s host'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card validate localhost:8001
  dragoman card validate ./agent-card.json -o json
  dragoman card validate ./agent-card.json --signed --keys ./jwks.json`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      const output = new Output(options.output)
      const keys = options.keys === undefined ? undefined : await readTrustedKeys(options.keys)
      const read = readRawCard(ref, options, output, keys)
      const { raw, source, signature } = await output.during('Reading', read)
      const report = validateCard(raw)
      output.result({ source, ...report, signature }, () => reportText(report, source, signature))
      if (!report.isValid || signature.state === 'invalid') process.exitCode = exitCodes.error
    })
}

function reportText({ version, problems, isValid }: CardReport, source: string, signature: Verification): string {
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
  const signed = signature.state === 'absent' ? [] : [`signature ${oneLine(signatureText(signature))}`]
  return [head, ...signed, ...(rows.length > 0 ? [table(rows)] : [])].join('\n')
}
