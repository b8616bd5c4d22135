/** `push dead` and `push redeliver`, which read dead letters from a store, whether or not a server uses it. */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import type { Store } from '../../engine/index.js'
import {
  type DeadDelivery,
  openStore,
  openStorePush,
  type Redelivery,
  type StorePush,
  type StorePushOptions,
} from '../../server/index.js'
import { addOutputOption, collect, toPositive } from '../agent-options.js'
import { exitCodes, UsageError } from '../failure.js'
import { type Format, Output } from '../output.js'
import { oneLine, table } from '../printable.js'
import { allowWebhookHelp } from '../server-options.js'
import { readSigningKey } from '../signing-keys.js'

interface DeadLetterOptions {
  readonly store?: string
  readonly agent?: string
  readonly task?: string
  readonly output: Format
}

function addDeadLetterOptions(command: Command): Command {
  return addOutputOption(
    command
      .option(
        '--store <store>',
        'sqlite:PATH, postgres://USER@HOST/DATABASE, or file:DIR while no other process uses it; required',
      )
      .option('--agent <name>', 'only dead letters of this agent')
      .option('--task <id>', 'only dead letters of this task'),
  )
}

/** Opens an existing store without migrating it: servers of an older version may be using it. */
async function openExistingStore({ store }: DeadLetterOptions): Promise<Store & AsyncDisposable> {
  if (store === undefined) throw new UsageError('give --store sqlite:PATH or --store postgres://…')
  if (store === 'memory') throw new UsageError('--store: other processes cannot read a memory store')
  const [, path] = /^(?:sqlite|file):(.+)$/.exec(store) ?? []
  if (path !== undefined && !existsSync(path)) throw new UsageError(`--store: file not found: ${path}`)
  try {
    const opened = await openStore(store, { mustExist: true })
    return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() })
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`--store: ${error.message}`)
    throw error
  }
}

interface DeadOptions extends DeadLetterOptions {
  readonly limit: number
  readonly after?: string
}

export function deadCommand(): Command {
  return addDeadLetterOptions(
    new Command('dead').description('List the dead letters of a store, oldest first: deliveries that were given up'),
  )
    .option('--limit <count>', 'print at most this many dead letters', toPositive, 100)
    .option('--after <id>', 'start after this dead letter')
    .addHelpText(
      'after',
      `
Examples:
  dragoman push dead --store sqlite:tasks.sqlite
  dragoman push dead --store postgres://localhost/tasks --agent Echo -o json

The server may keep running. URLs of webhooks are not printed, because they may contain secrets.`,
    )
    .action(async (options: DeadOptions) => {
      const output = new Output(options.output)
      await using store = await openExistingStore(options)
      await using push = await openStorePush(store)
      const { limit, after } = options
      const deadLetters = await push.deadLetters({
        ...filterOf(options),
        limit,
        ...(after !== undefined && { afterId: after }),
      })
      output.result({ deadLetters }, () => output.safe(lettersText(deadLetters)))
      if (deadLetters.length === limit) output.note(`Continue with --after ${deadLetters.at(-1)?.id}`)
      if (deadLetters.length > 0) output.note('Send them again: dragoman push redeliver ID … --store …')
    })
}

function filterOf({ agent, task }: DeadLetterOptions): { readonly agent?: string; readonly taskId?: string } {
  return { ...(agent !== undefined && { agent }), ...(task !== undefined && { taskId: task }) }
}

function lettersText(letters: readonly DeadDelivery[]): string {
  if (letters.length === 0) return 'No dead letters'
  const rows = letters.map(({ id, timeMs, agent, taskId, configId, attempts, error }) =>
    [id, new Date(timeMs).toISOString(), agent, taskId, configId, String(attempts), error].map(oneLine),
  )
  return table([['ID', 'TIME', 'AGENT', 'TASK', 'WEBHOOK', 'ATTEMPTS', 'ERROR'], ...rows])
}

interface RedeliverOptions extends DeadLetterOptions {
  readonly all?: true
  readonly allowWebhook?: readonly string[]
  readonly signingKey?: string
  readonly publicUrl?: string
}

export function redeliverCommand(): Command {
  return addDeadLetterOptions(
    new Command('redeliver')
      .description('Deliver dead letters of a store once more')
      .argument('[id...]', 'ids of dead letters, as `push dead` prints them')
      .option('--all', 'redeliver all dead letters'),
  )
    .option('--allow-webhook <host>', allowWebhookHelp, collect)
    .option('--signing-key <path>', 'private key (JWK or PEM) that signs the deliveries, if the agent signs them')
    .option('--public-url <url>', 'address of the agent, which the signature names; with --signing-key')
    .addHelpText(
      'after',
      `
Examples:
  dragoman push redeliver 7 8 --store sqlite:tasks.sqlite
  dragoman push redeliver --all --agent Echo --store postgres://localhost/tasks

A delivery keeps its id, so that receivers can ignore repetitions. A dead letter that arrives is deleted. If one does
not arrive, it stays, and the exit code is 1.`,
    )
    .action(async (ids: readonly string[], options: RedeliverOptions) => {
      if (options.all === true ? ids.length > 0 : ids.length === 0)
        throw new UsageError('give the ids of dead letters, or --all')
      if (!options.all && (options.agent !== undefined || options.task !== undefined))
        throw new UsageError('--agent and --task need --all')
      const output = new Output(options.output)
      const pushOptions = await readPushOptions(options, output)
      await using store = await openExistingStore(options)
      await using push = await openStorePush(store, pushOptions)
      const outcomes: (Redelivery & { readonly id: string })[] = []
      for await (const id of options.all ? allOf(push, options) : ids) {
        const outcome = (await push.redeliver(id)) ?? { isDelivered: false, error: 'dead letter not found' }
        outcomes.push({ id, ...outcome })
        if (options.output === 'text') output.line(outcomeText(id, outcome))
      }
      if (options.output === 'json') output.result({ redeliveries: outcomes }, () => '')
      else if (outcomes.length === 0) output.line('No dead letters')
      if (outcomes.some(({ isDelivered }) => !isDelivered)) process.exitCode = exitCodes.error
    })
}

async function readPushOptions(options: RedeliverOptions, output: Output): Promise<StorePushOptions> {
  const { allowWebhook, signingKey, publicUrl } = options
  if ((signingKey === undefined) !== (publicUrl === undefined))
    throw new UsageError('give both --signing-key and --public-url, or neither')
  return {
    ...(allowWebhook && { push: { allowHosts: allowWebhook } }),
    ...(signingKey !== undefined && {
      signing: { keys: [await readSigningKey(signingKey, (warning) => output.warning(warning))] },
    }),
    ...(publicUrl !== undefined && { publicUrl }),
    log: ({ message }) => output.warning(message),
  }
}

/** Each dead letter once, also those that stay because they do not arrive. */
async function* allOf(push: StorePush, options: RedeliverOptions): AsyncGenerator<string, void, void> {
  for (let afterId = '0'; ; ) {
    const page = await push.deadLetters({ ...filterOf(options), afterId })
    for (const { id } of page) yield id
    const last = page.at(-1)
    if (!last) return
    afterId = last.id
  }
}

function outcomeText(id: string, outcome: Redelivery): string {
  return oneLine(`${id} ${outcome.isDelivered ? 'delivered' : `not delivered: ${outcome.error}`}`)
}
