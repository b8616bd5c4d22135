import { Command } from 'commander'
import { openStorePush, type Redelivery, type StorePush, type StorePushOptions } from '../../../server/index.js'
import { addOutputOption } from '../../agent-options.js'
import { exitCodes } from '../../failure.js'
import { type Format, Output } from '../../output.js'
import { oneLine } from '../../printable.js'
import { readSigningKey } from '../../signing-keys.js'
import { addStoreOption, openGivenStore, type StoreOptions } from '../../store-options.js'
import { UsageError } from '../../usage-error.js'
import { addChoice, type ChosenLetters, queryOf } from './dead.js'

interface Options extends StoreOptions, ChosenLetters {
  readonly all?: true
  readonly allowWebhook?: readonly string[]
  readonly signingKey?: string
  readonly publicUrl?: string
  readonly output: Format
}

export function redeliverCommand(): Command {
  return addOutputOption(
    addChoice(
      addStoreOption(new Command('redeliver').description('Send deliveries that were given up once more, from a store'))
        .argument('[id...]', 'what `push dead` calls them')
        .option('--all', 'every one there is'),
    )
      .option(
        '--allow-webhook <host>',
        'a host that webhooks may be at although it is inside, or speaks http; may be repeated',
        (host: string, before: readonly string[] = []) => [...before, host],
      )
      .option('--signing-key <path>', 'the private key (JWK or PEM) that signs deliveries, if the agent signs them')
      .option('--public-url <url>', 'the address of the agent: who signs'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman push redeliver 7 8 --store sqlite:tasks.sqlite
  dragoman push redeliver --all --agent Echo --store postgres://localhost/tasks

A delivery keeps its id, so that a receiver knows one it has seen. What arrives is no dead letter any more; what does not
stays one, and the exit code is 1.`,
    )
    .action(async (ids: readonly string[], options: Options) => {
      if (options.all === true ? ids.length > 0 : ids.length === 0)
        throw new UsageError('name dead letters by their ids, or all of them with --all')
      if (!options.all && (options.agent !== undefined || options.task !== undefined))
        throw new UsageError('--agent and --task are for --all')
      const output = new Output(options.output)
      const how = await pushOptions(options, output)
      await using store = await openGivenStore(options)
      await using push = await openStorePush(store, how)
      const outcomes: (Redelivery & { readonly id: string })[] = []
      for await (const id of options.all ? allOf(push, options) : ids) {
        const outcome = await redeliver(push, id)
        outcomes.push({ id, ...outcome })
        if (options.output === 'text') output.line(outcomeText(id, outcome))
      }
      if (options.output === 'json') output.result({ redeliveries: outcomes }, () => '')
      else if (outcomes.length === 0) output.line('No dead letters')
      if (outcomes.some(({ isDelivered }) => !isDelivered)) process.exitCode = exitCodes.error
    })
}

async function pushOptions(options: Options, output: Output): Promise<StorePushOptions> {
  const { allowWebhook, signingKey, publicUrl } = options
  if ((signingKey === undefined) !== (publicUrl === undefined))
    throw new UsageError('--signing-key and --public-url go together')
  return {
    ...(allowWebhook && { push: { allowHosts: allowWebhook } }),
    ...(signingKey !== undefined && {
      signing: { keys: [await readSigningKey(signingKey, (warning) => output.warning(warning))] },
    }),
    ...(publicUrl !== undefined && { publicUrl }),
    log: ({ message }) => output.warning(message),
  }
}

/** Page by page, each one once: what does not arrive stays where it is. */
async function* allOf(push: StorePush, options: Options): AsyncGenerator<string, void, void> {
  for (let afterId = '0'; ; ) {
    const page = await push.deadLetters({ ...queryOf(options), afterId })
    for (const { id } of page) yield id
    const last = page.at(-1)
    if (!last) return
    afterId = last.id
  }
}

async function redeliver(push: StorePush, id: string): Promise<Redelivery> {
  return (await push.redeliver(id)) ?? { isDelivered: false, error: 'There is no such dead letter' }
}

function outcomeText(id: string, outcome: Redelivery): string {
  return oneLine(`${id} ${outcome.isDelivered ? 'delivered' : `not delivered: ${outcome.error}`}`)
}
