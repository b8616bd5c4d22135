import { Command } from 'commander'
import { A2AError } from '../../index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import type { TaskPushNotificationConfig } from '../../model/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitReference, splitWords, withAgent } from '../agent-options.js'
import { Advised } from '../failure.js'
import { oneLine, table } from '../printable.js'
import { UsageError } from '../usage-error.js'
import { deadCommand } from './push/dead.js'
import { listenCommand } from './push/listen.js'
import { redeliverCommand } from './push/redeliver.js'

export function pushCommand(): Command {
  const command = new Command('push').description(
    'Have an agent call a webhook when a task changes, receive the calls, and see to those that were given up',
  )
  for (const create of [
    setCommand,
    getCommand,
    listCommand,
    deleteCommand,
    listenCommand,
    deadCommand,
    redeliverCommand,
  ])
    command.addCommand(create())
  return command
}

interface SetOptions extends AgentOptions {
  readonly id?: string
  readonly token?: string
  readonly authScheme?: string
  readonly authCredentials?: string
}

function setCommand(): Command {
  return addAgentOptions(
    new Command('set')
      .description('Register a webhook for a task')
      .argument('[ref]', refHelp)
      .argument('[task]', 'the id of the task')
      .argument('[url]', 'the webhook')
      .option('--id <id>', 'of the registration; the agent makes one up otherwise')
      .option('--token <token>', 'comes back in X-A2A-Notification-Token with every delivery')
      .option('--auth-scheme <scheme>', 'how the agent authenticates at the webhook, such as Bearer')
      .option('--auth-credentials <secret>', 'and with what'),
  )
    .addHelpText('after', '\nExample:\n  dragoman push set localhost:8001 0193… https://example.com/hook --token t0ken')
    .action(async (...[first, second, third, options]: [...Words, SetOptions, Command]) => {
      const [ref, taskId, url] = splitWords([first, second, third], options, ['the id of a task', 'a webhook'])
      if (!/^https?:\/\//i.test(url) || !canParseUrl(url)) throw new UsageError(`a webhook is an http address: ${url}`)
      const { id, token, authScheme, authCredentials } = options
      if (authCredentials !== undefined && authScheme === undefined)
        throw new UsageError('--auth-credentials needs --auth-scheme, such as Bearer')
      await withAgent(ref, options, async (agent, output) => {
        const wanted: TaskPushNotificationConfig = {
          taskId,
          url,
          ...(id !== undefined && { id }),
          ...(token !== undefined && { token }),
          ...(authScheme !== undefined && {
            authentication: {
              scheme: authScheme,
              ...(authCredentials !== undefined && { credentials: authCredentials }),
            },
          }),
        }
        const config = await agent.createTaskPushNotificationConfig(wanted).catch((error: unknown) => {
          throw isAddressRefused(error) ? new Advised(error, addressHint) : error
        })
        output.result(withoutSecrets(config), () => configText(config))
      })
    })
}

const addressHint =
  'Agents of Dragoman call webhooks by https and on the internet, and others where they are started with --allow-webhook HOST'

function isAddressRefused(error: unknown): boolean {
  return error instanceof A2AError && error.details.violations?.some(({ field }) => field === 'url') === true
}

/** Every command here has up to three words, and the agent may stand elsewhere. */
type Words = [string | undefined, string | undefined, string | undefined]

function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print the registration of a webhook')
      .argument('[ref]', refHelp)
      .argument('[task]', 'the id of the task')
      .argument('[id]', 'of the registration; older agents have one without an id'),
  ).action(async (...[first, second, third, options]: [...Words, AgentOptions, Command]) => {
    const words = [first, second, third].filter((word) => word !== undefined)
    const [ref, [taskId, id]] = splitReference(words, options)
    if (taskId === undefined) throw new UsageError('give the id of a task too')
    await withAgent(ref, options, async (agent, output) => {
      const config = await agent.getTaskPushNotificationConfig({ taskId, ...(id !== undefined && { id }) })
      output.result(withoutSecrets(config), () => configText(config))
    })
  })
}

function listCommand(): Command {
  return addAgentOptions(
    new Command('list')
      .description('List the webhooks of a task')
      .argument('[ref]', refHelp)
      .argument('[task]', 'the id of the task'),
  ).action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
    const [ref, taskId] = splitWords([first, second], options, ['the id of a task'])
    await withAgent(ref, options, async (agent, output) => {
      const configs: TaskPushNotificationConfig[] = []
      let pageToken = ''
      do {
        const page = await agent.listTaskPushNotificationConfigs({ taskId, ...(pageToken !== '' && { pageToken }) })
        configs.push(...page.configs)
        pageToken = page.nextPageToken === pageToken ? '' : page.nextPageToken
      } while (pageToken !== '')
      output.result({ configs: configs.map(withoutSecrets) }, () =>
        configs.length === 0 ? 'No webhooks' : table(configs.map(({ id = '', url }) => [oneLine(id), oneLine(url)])),
      )
    })
  })
}

function deleteCommand(): Command {
  return addAgentOptions(
    new Command('delete')
      .description('Remove the registration of a webhook')
      .argument('[ref]', refHelp)
      .argument('[task]', 'the id of the task')
      .argument('[id]', 'of the registration'),
  ).action(async (...[first, second, third, options]: [...Words, AgentOptions, Command]) => {
    const [ref, taskId, id] = splitWords([first, second, third], options, [
      'the id of a task',
      'the id of a registration',
    ])
    await withAgent(ref, options, async (agent, output) => {
      await agent.deleteTaskPushNotificationConfig({ taskId, id })
      output.result({ taskId, id, isDeleted: true }, () => `Removed ${id}`)
    })
  })
}

const redacted = '[redacted]'

/** What authenticates somebody is not for screens and logs. */
function withoutSecrets(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const { token, authentication, ...rest } = config
  return {
    ...rest,
    ...(token !== undefined && { token: redacted }),
    ...(authentication && {
      authentication: {
        scheme: authentication.scheme,
        ...(authentication.credentials !== undefined && { credentials: redacted }),
      },
    }),
  }
}

function configText({ id, taskId, url, token, authentication }: TaskPushNotificationConfig): string {
  return table([
    ['Webhook', oneLine(url)],
    ['Id', oneLine(id ?? '–')],
    ...(taskId === undefined ? [] : [['Task', oneLine(taskId)]]),
    ...(token === undefined ? [] : [['Token', redacted]]),
    ...(authentication === undefined ? [] : [['Signs in', oneLine(authentication.scheme)]]),
  ])
}
