import { Command } from 'commander'
import { clientDialects } from '../../dialects/index.js'
import { type AgentOptions, addAgentOptions, agentHelp, connectOptions, requireArguments } from '../agent-options.js'
import { anonymous, findingText, type Health, healthText } from '../doctor/probe.js'
import { runChecks } from '../doctor/run-checks.js'
import { exitCodes, UsageError } from '../failure.js'
import { Output } from '../output.js'

interface Options extends AgentOptions {
  readonly send?: string | true
}

const defaultTimeoutSeconds = 10

const exits: Readonly<Record<Health, number>> = {
  healthy: exitCodes.ok,
  problems: exitCodes.error,
  unreachable: exitCodes.unreachable,
}

export function doctorCommand(): Command {
  return addAgentOptions(
    new Command('doctor')
      .description('Check an agent for faults: card, interfaces, errors, security, push notifications and streams')
      .argument('[agent]', agentHelp)
      .option('--send [text]', 'also send a message, and check the answer and its stream (default text: ping)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman doctor localhost:8001
  dragoman doctor agent.example --send
  dragoman doctor agent.example --header 'Authorization: Bearer …' -o json

The command requests an unknown task from every interface on the card, which changes nothing at the agent. Only --send
creates a task. --timeout is the time limit of each check (default: ${defaultTimeoutSeconds} s); a check that exceeds it is reported, and the others run.

Each line has one of these verdicts: ok, note (for information), warning (some clients may fail), problem (clients will
fail), skipped (the check did not run).
Exit codes: 0 healthy (there may be warnings), 1 problems, 3 unreachable.`,
    )
    .action(async (ref: string | undefined, options: Options) => {
      const [agent] = requireArguments([ref], options, [])
      if (clientDialects.some(({ name, card }) => name === options.protocol && !card))
        throw new UsageError(`--protocol ${options.protocol} has no card, so there is nothing to check`)
      const output = new Output(options.output)
      const { headers = {}, credentials, ...connect } = await connectOptions(agent, options, output)
      const isAnonymous = Object.keys(headers).length === 0 && credentials === undefined
      const text = options.send === true ? 'ping' : options.send
      const report = await runChecks(
        { ref: agent, ...(text !== undefined && { text }) },
        {
          options: connect,
          identity: isAnonymous ? anonymous : { headers, ...(credentials && { credentials }) },
          timeoutMs: (options.timeout ?? defaultTimeoutSeconds) * 1000,
          report: (finding) => {
            if (options.output === 'text') output.line(findingText(finding))
          },
        },
      )
      output.result({ ref: agent, ...report }, () => healthText(report))
      process.exitCode = exits[report.health]
    })
}
