import { Command } from 'commander'
import { type DeadDelivery, openStorePush } from '../../../server/index.js'
import { addOutputOption, toPositive } from '../../agent-options.js'
import { type Format, Output } from '../../output.js'
import { oneLine, table } from '../../printable.js'
import { addStoreOption, openGivenStore, type StoreOptions } from '../../store-options.js'

/** Which dead letters. */
export interface ChosenLetters {
  readonly agent?: string
  readonly task?: string
}

interface Options extends StoreOptions, ChosenLetters {
  readonly limit: number
  readonly after?: string
  readonly output: Format
}

export function addChoice(command: Command): Command {
  return command.option('--agent <name>', 'only those of this agent').option('--task <id>', 'only those of this task')
}

export function deadCommand(): Command {
  return addOutputOption(
    addChoice(
      addStoreOption(new Command('dead').description('List deliveries that were given up, oldest first, from a store')),
    )
      .option('--limit <n>', 'at most so many', toPositive, 100)
      .option('--after <id>', 'go on behind this one'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman push dead --store sqlite:tasks.sqlite
  dragoman push dead --store postgres://localhost/tasks --agent Echo -o json

The server may be running meanwhile. Webhooks themselves are not shown: they may carry secrets.`,
    )
    .action(async (options: Options) => {
      const output = new Output(options.output)
      await using store = await openGivenStore(options)
      await using push = await openStorePush(store)
      const { limit, after } = options
      const deadLetters = await push.deadLetters({
        ...queryOf(options),
        limit,
        ...(after !== undefined && { afterId: after }),
      })
      output.result({ deadLetters }, () => output.said(lettersText(deadLetters)))
      if (deadLetters.length === limit) output.note(`The next ones: --after ${deadLetters.at(-1)?.id}`)
      if (deadLetters.length > 0) output.note('Send them again: dragoman push redeliver ID … --store …')
    })
}

export function queryOf({ agent, task }: ChosenLetters): { readonly agent?: string; readonly taskId?: string } {
  return { ...(agent !== undefined && { agent }), ...(task !== undefined && { taskId: task }) }
}

function lettersText(letters: readonly DeadDelivery[]): string {
  if (letters.length === 0) return 'No dead letters'
  const rows = letters.map(({ id, timeMs, agent, taskId, configId, attempts, error }) =>
    [id, new Date(timeMs).toISOString(), agent, taskId, configId, String(attempts), error].map(oneLine),
  )
  return table([['ID', 'GIVEN UP', 'AGENT', 'TASK', 'WEBHOOK', 'ATTEMPTS', 'WHY'], ...rows])
}
