import { Command } from 'commander'
import { clientDialects } from '../../dialects/index.js'
import { type AgentOptions, addAgentOptions, connectOptions, refHelp, splitReference } from '../agent-options.js'
import { examine } from '../doctor/examine.js'
import { findingText, type Health, healthText } from '../doctor/finding.js'
import { nobody } from '../doctor/patient.js'
import { exitCodes } from '../failure.js'
import { Output } from '../output.js'
import { UsageError } from '../usage-error.js'

interface Options extends AgentOptions {
  readonly send?: string | true
}

const usualTimeoutSeconds = 10

const exits: Readonly<Record<Health, number>> = {
  healthy: exitCodes.ok,
  problems: exitCodes.error,
  unreachable: exitCodes.unreachable,
}

export function doctorCommand(): Command {
  return addAgentOptions(
    new Command('doctor')
      .description(
        'Examine an agent: card, interfaces, versions, errors, security, streams; says what is wrong and why',
      )
      .argument('[ref]', refHelp)
      .option('--send [text]', 'send a message too, and look at the answer and its stream (default text: ping)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman doctor localhost:8001
  dragoman doctor agent.example --send
  dragoman doctor agent.example --header 'Authorization: Bearer …' -o json

Every interface in the card is asked for a task that does not exist, which changes nothing there. Only --send
makes a task. --timeout is for each check (default: ${usualTimeoutSeconds} s): what never answers is reported, and the rest examined.

Each line is ok, a note (worth knowing), a warning (works, but somebody may stumble), a problem (clients will fail), or
skipped.
Exit codes: 0 healthy (there may be warnings), 1 problems, 3 nobody answers.`,
    )
    .action(async (ref: string | undefined, options: Options) => {
      const [agent, rest] = splitReference(ref === undefined ? [] : [ref], options)
      if (rest.length > 0) throw new UsageError(`there is a word too many: ${rest[0]}`)
      if (clientDialects.some(({ name, card }) => name === options.protocol && !card))
        throw new UsageError(`${options.protocol} has no card: there is nothing to hold an agent to`)
      const output = new Output(options.output)
      const { headers = {}, credentials, ...connect } = await connectOptions(agent, options, output)
      const isNothing = Object.keys(headers).length === 0 && credentials === undefined
      const text = options.send === true ? 'ping' : options.send
      const diagnosis = await examine(
        { ref: agent, ...(text !== undefined && { text }) },
        {
          options: connect,
          identity: isNothing ? nobody : { headers, ...(credentials && { credentials }) },
          timeoutMs: (options.timeout ?? usualTimeoutSeconds) * 1000,
          report: (finding) => {
            if (options.output === 'text') output.line(findingText(finding))
          },
        },
      )
      output.result({ ref: agent, ...diagnosis }, () => healthText(diagnosis))
      process.exitCode = exits[diagnosis.health]
    })
}
