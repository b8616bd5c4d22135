import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Command } from 'commander'
import { createPushReceiver, type PushDelivery } from '../../../client/index.js'
import { toNodeListener } from '../../../server/index.js'
import { addOutputOption, toPort, toPositive } from '../../agent-options.js'
import { type Format, Output } from '../../output.js'
import { oneLine } from '../../printable.js'
import { contentText, stateName } from '../../task-text.js'

interface Options {
  readonly port: number
  readonly host: string
  readonly token?: string
  readonly jwks?: string
  readonly count?: number
  readonly output: Format
}

export function listenCommand(): Command {
  return addOutputOption(
    new Command('listen')
      .description('Receive webhook deliveries and print them, whatever version the agent speaks')
      .option('-p, --port <port>', 'port to listen on, 0 for any', toPort, 0)
      .option('--host <address>', 'address to bind', '127.0.0.1')
      .option('--token <token>', 'refuse deliveries without this X-A2A-Notification-Token')
      .option('--jwks <url>', 'refuse deliveries that are not signed by a key published here')
      .option('--count <n>', 'end after so many deliveries', toPositive),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman push listen --port 9000 --token t0ken
  dragoman push set localhost:8001 0193… http://127.0.0.1:9000/ --token t0ken

With -o json every delivery is a JSON line: the dialect it came in, and the event as v1.0 spells it. A delivery that
is repeated is printed once.`,
    )
    .action(listen)
}

async function listen({ port, host, token, jwks, count, output: format }: Options): Promise<void> {
  const output = new Output(format)
  const isOver = new AbortController()
  let left = count ?? Number.POSITIVE_INFINITY
  const receive = createPushReceiver({
    ...(token !== undefined && { token }),
    ...(jwks !== undefined && { jwksUrl: jwks }),
    onRefused: (reason) => output.warning(`Refused a delivery: ${oneLine(reason)}`),
    onDelivery(delivery) {
      output.piece(delivery, () => output.said(deliveryText(delivery)))
      left -= 1
      if (left <= 0) isOver.abort()
    },
  })
  const server = createServer(toNodeListener(receive))
  server.listen(port, host)
  await once(server, 'listening')
  // A server that listens always has an address of this kind.
  const address = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/`
  output.piece({ listening: url }, () => `Listening at ${url}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => isOver.abort())
  await once(isOver.signal, 'abort')
  await close(server)
}

function deliveryText({ dialect, event, taskId }: PushDelivery): string {
  const [kind = ''] = Object.keys(event)
  const said = contentOf(event)
  const head = [kind, taskId, said.state ?? ''].filter((each) => each !== '').map(oneLine)
  const words = contentText(said.parts).trimEnd()
  return `${head.join('  ')}  (${dialect})\n${words === '' ? '' : `  ${words.replaceAll('\n', '\n  ')}\n`}`
}

function contentOf(event: PushDelivery['event']) {
  if ('message' in event) return { parts: event.message.parts }
  if ('artifactUpdate' in event) return { parts: event.artifactUpdate.artifact.parts }
  const { status } = 'task' in event ? event.task : event.statusUpdate
  const made = 'task' in event ? (event.task.artifacts ?? []).flatMap(({ parts }) => parts) : []
  return { parts: [...(status.message?.parts ?? []), ...made], state: stateName(status.state) }
}

/** What is being answered is answered first. */
async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  setTimeout(() => server.closeAllConnections(), 500).unref()
  server.closeIdleConnections()
  await closed
}
