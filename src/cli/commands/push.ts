import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Command } from 'commander'
import { createPushReceiver, type PushDelivery } from '../../client/index.js'
import { A2AError } from '../../index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import type { TaskPushNotificationConfig } from '../../model/index.js'
import { toNodeListener } from '../../server/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  addOutputOption,
  agentHelp,
  requireArguments,
  splitAgent,
  toPort,
  toPositive,
  withAgent,
} from '../agent-options.js'
import { AdvisedError, UsageError } from '../failure.js'
import { type Format, Output } from '../output.js'
import { oneLine, table } from '../printable.js'
import { contentText, stateName } from '../task-text.js'
import { deadCommand, redeliverCommand } from './push-dead-letters.js'

const taskHelp = 'the id of the task'
const configHelp = 'the id of the registration'

export function pushCommand(): Command {
  const command = new Command('push').description('Register and receive webhooks, and redeliver dead letters')
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

/** The positional arguments: the agent may be given with `--agent` instead. */
type Words = [string | undefined, string | undefined, string | undefined]

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
      .argument('[agent]', agentHelp)
      .argument('[task]', taskHelp)
      .argument('[url]', 'the URL of the webhook')
      .option('--id <id>', 'id of the registration (default: the agent chooses one)')
      .option('--token <token>', 'token that every delivery carries in X-A2A-Notification-Token')
      .option('--auth-scheme <scheme>', 'HTTP authentication scheme of the webhook, such as Bearer')
      .option('--auth-credentials <secret>', 'credentials for that scheme'),
  )
    .addHelpText('after', '\nExample:\n  dragoman push set localhost:8001 0193… https://example.com/hook --token t0ken')
    .action(async (...[first, second, third, options]: [...Words, SetOptions, Command]) => {
      const [ref, taskId, url] = requireArguments([first, second, third], options, [
        'the id of a task',
        'the URL of a webhook',
      ])
      if (!/^https?:\/\//i.test(url) || !canParseUrl(url))
        throw new UsageError(`the webhook must be an http or https URL: ${url}`)
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
          throw isUrlRejected(error) ? new AdvisedError(error, urlHint) : error
        })
        output.result(withoutSecrets(config), () => configText(config))
      })
    })
}

const urlHint =
  'Dragoman agents call webhooks over https and on the public internet; serve --allow-webhook HOST allows other hosts'

function isUrlRejected(error: unknown): boolean {
  return error instanceof A2AError && error.details.violations?.some(({ field }) => field === 'url') === true
}

function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print the registration of a webhook')
      .argument('[agent]', agentHelp)
      .argument('[task]', taskHelp)
      .argument(
        '[id]',
        `${configHelp}; omit it for agents of older versions, whose tasks have one webhook without an id`,
      ),
  )
    .addHelpText('after', '\nExample:\n  dragoman push get localhost:8001 0193… 7f2c…')
    .action(async (...[first, second, third, options]: [...Words, AgentOptions, Command]) => {
      const words = [first, second, third].filter((word) => word !== undefined)
      const [ref, [taskId, id]] = splitAgent(words, options)
      if (taskId === undefined) throw new UsageError('missing argument: the id of a task')
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
      .argument('[agent]', agentHelp)
      .argument('[task]', taskHelp),
  )
    .addHelpText('after', '\nExample:\n  dragoman push list localhost:8001 0193…')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, taskId] = requireArguments([first, second], options, ['the id of a task'])
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
      .description('Delete the registration of a webhook')
      .argument('[agent]', agentHelp)
      .argument('[task]', taskHelp)
      .argument('[id]', configHelp),
  )
    .addHelpText('after', '\nExample:\n  dragoman push delete localhost:8001 0193… 7f2c…')
    .action(async (...[first, second, third, options]: [...Words, AgentOptions, Command]) => {
      const [ref, taskId, id] = requireArguments([first, second, third], options, [
        'the id of a task',
        'the id of a registration',
      ])
      await withAgent(ref, options, async (agent, output) => {
        await agent.deleteTaskPushNotificationConfig({ taskId, id })
        output.result({ taskId, id, isDeleted: true }, () => `Deleted ${id}`)
      })
    })
}

const redacted = '[redacted]'

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
    ...(authentication === undefined ? [] : [['Authentication', oneLine(authentication.scheme)]]),
  ])
}

interface ListenOptions {
  readonly port: number
  readonly host: string
  readonly token?: string
  readonly jwks?: string
  readonly count?: number
  readonly output: Format
}

function listenCommand(): Command {
  return addOutputOption(
    new Command('listen')
      .description('Receive webhook deliveries of every protocol version and print them')
      .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort, 0)
      .option('--host <address>', 'address to bind', '127.0.0.1')
      .option('--token <token>', 'reject deliveries without this X-A2A-Notification-Token')
      .option('--jwks <url>', 'reject deliveries that are not signed with a key of this JWK set')
      .option('--count <count>', 'end after this many deliveries (default: never)', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman push listen --port 9000 --token t0ken
  dragoman push set localhost:8001 0193… http://127.0.0.1:9000/ --token t0ken

With -o json the command prints one JSON line for each delivery: its dialect, and the event in the form of v1.0. A
repeated delivery is printed once.`,
    )
    .action(listen)
}

async function listen({ port, host, token, jwks, count, output: format }: ListenOptions): Promise<void> {
  const output = new Output(format)
  const isOver = new AbortController()
  let left = count ?? Number.POSITIVE_INFINITY
  const receive = createPushReceiver({
    ...(token !== undefined && { token }),
    ...(jwks !== undefined && { jwksUrl: jwks }),
    onRefused: (reason) => output.warning(`Rejected a delivery: ${oneLine(reason)}`),
    onDelivery(delivery) {
      output.chunk(delivery, () => output.safe(deliveryText(delivery)))
      left -= 1
      if (left <= 0) isOver.abort()
    },
  })
  const server = createServer(toNodeListener(receive))
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo // it listens at a host and a port
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/`
  output.chunk({ listening: url }, () => `Listening at ${url}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => isOver.abort())
  await once(isOver.signal, 'abort')
  await close(server)
}

function deliveryText({ dialect, event, taskId }: PushDelivery): string {
  const [kind = ''] = Object.keys(event)
  const { parts, state = '' } = contentOf(event)
  const head = [kind, taskId, state].filter((each) => each !== '').map(oneLine)
  const text = contentText(parts).trimEnd()
  return `${head.join('  ')}  (${dialect})\n${text === '' ? '' : `  ${text.replaceAll('\n', '\n  ')}\n`}`
}

function contentOf(event: PushDelivery['event']) {
  if ('message' in event) return { parts: event.message.parts }
  if ('artifactUpdate' in event) return { parts: event.artifactUpdate.artifact.parts }
  const { status } = 'task' in event ? event.task : event.statusUpdate
  const artifacts = 'task' in event ? (event.task.artifacts ?? []).flatMap(({ parts }) => parts) : []
  return { parts: [...(status.message?.parts ?? []), ...artifacts], state: stateName(status.state) }
}

/** Gives responses in progress half a second to finish. */
async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  setTimeout(() => server.closeAllConnections(), 500).unref()
  server.closeIdleConnections()
  await closed
}
