import { Command } from 'commander'
import { type AgentOptions, addAgentOptions, refHelp, splitReference, withAgent } from '../../agent-options.js'
import { withDeadline } from '../../deadline.js'
import { addPartOptions, readParts } from '../../message-parts.js'
import { followRun, showRun } from '../../workflow/follow-run.js'

interface Options extends AgentOptions {
  readonly key?: string
}

export function runCommand(): Command {
  const command = new Command('run')
    .description('Start a run, follow it, and print its result')
    .argument('[ref]', refHelp)
    .argument('[text...]', 'what it is about; - reads it from stdin')
    .option('--key <key>', 'idempotency key: the same key again is the same run')
  const given = addPartOptions(command)
  return addAgentOptions(command)
    .addHelpText(
      'after',
      `
Example, while \`npm start\` runs:
  dragoman workflow run localhost:8010 "Solar power"

Its steps go to stderr as they happen, its result to stdout; -o json prints the task and its graph. A run that asks something
waits: \`dragoman workflow resume\` answers it.`,
    )
    .action(async (ref: string | undefined, text: readonly string[], options: Options) => {
      const [workflow, words] = splitReference(ref === undefined ? [] : [ref, ...text], options)
      const parts = await readParts(words, given)
      await withAgent(workflow, options, async (agent, output, named) => {
        await withDeadline(options.timeout, async (limit) => {
          const say = { ...limit, ...(options.key !== undefined && { idempotencyKey: options.key }) }
          showRun(await followRun(agent.stream(parts, say), output), named, output)
        })
      })
    })
}
