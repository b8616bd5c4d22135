import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import type { AgentClient, Part, SendOptions } from '../../client/index.js'
import type { Struct } from '../../model/index.js'
import {
  type AgentOptions,
  addAgentOptions,
  agentHelp,
  collect,
  splitAgent,
  withAgent,
  withDeadline,
} from '../agent-options.js'
import { UsageError } from '../failure.js'
import { addPartOptions, readJson, readParts } from '../message-parts.js'
import type { Output } from '../output.js'
import { oneLine, shellWord } from '../printable.js'
import { StreamPrinter } from '../stream-printer.js'
import { answerText, contentText, nextSteps, stateName, taskHasFiles } from '../task-text.js'

interface Options extends AgentOptions {
  readonly stream?: true
  readonly async?: true
  readonly context?: string
  readonly task?: string
  readonly reference?: readonly string[]
  readonly metadata?: string
  readonly key?: string
}

/** Answers of agents take longer than those of other servers. */
const defaultTimeoutSeconds = 600

export function sendCommand(): Command {
  const command = new Command('send')
    .description('Send a message to an agent and print its answer')
    .argument('[agent]', agentHelp)
    .argument('[text...]', 'text of the message; - reads it from stdin')
    .option('--stream', 'print the answer as it arrives; with -o json one JSON line for each event')
    .option('--async', 'print the task and do not wait for the answer')
    .option('--context <id>', 'continue this context')
    .option('--task <id>', 'send the message to this task, for example as the answer to its question')
    .option('--reference <id>', 'id of a task that the message refers to; repeatable', collect)
    .option('--metadata <json>', 'metadata of the request: a JSON object, or @PATH of a JSON file')
    .option('--key <key>', 'idempotency key: repeating the command with the same key sends the message once')
  const given = addPartOptions(command)
  return addAgentOptions(command)
    .addHelpText(
      'after',
      `
Examples:
  dragoman send localhost:8001 hello
  dragoman send localhost:8001 --stream "chunks 10 100"
  dragoman send localhost:8001 "Summarise this" --file report.pdf --data '{"words":50}'
  git diff | dragoman send localhost:8001 "Review this change:" -
  dragoman send localhost:8001 --task 0193… "the answer to its question"

The answer goes to stdout, everything else to stderr. The exit code is 0 also if the task failed. Without --timeout the
command waits ten minutes for the answer.`,
    )
    .action(async (ref: string | undefined, text: readonly string[], options: Options) => {
      const [agent, words] = splitAgent(ref === undefined ? [] : [ref, ...text], options)
      if (options.stream && options.async) throw new UsageError('--stream and --async exclude each other')
      const parts = await readParts(words, given)
      const sending = await sendOptions(options)
      await withAgent(agent, { timeout: defaultTimeoutSeconds, ...options }, async (client, output, agentArgs) => {
        const to: Target = { client, output, agentArgs }
        await withDeadline(options.timeout, async ({ signal }) => {
          const timed = { ...sending, ...(signal && { signal }) }
          if (options.stream) await stream(to, parts, timed)
          else if (options.async) await sendOnly(to, parts, timed)
          else await sendAndWait(to, parts, timed)
        })
      })
    })
}

interface Target {
  readonly client: AgentClient
  readonly output: Output
  readonly agentArgs: string
}

async function sendOptions({ context, task, reference, metadata, key }: Options): Promise<SendOptions> {
  return {
    ...(context !== undefined && { contextId: context }),
    ...(task !== undefined && { taskId: task }),
    ...(reference && { referenceTaskIds: reference }),
    ...(metadata !== undefined && { metadata: await readStruct(metadata) }),
    ...(key !== undefined && { idempotencyKey: key }),
  }
}

async function readStruct(given: string): Promise<Struct> {
  const value = await readJson(given, '--metadata')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Struct // the only JSON type left
  throw new UsageError('--metadata: expected a JSON object')
}

async function stream(
  { client, output, agentArgs }: Target,
  parts: readonly Part[],
  options: SendOptions,
): Promise<void> {
  await new StreamPrinter(output, agentArgs).follow(client.stream(parts, options))
}

/** Makes one call and prints the task in its current state. */
async function sendOnly(
  { client, output, agentArgs }: Target,
  parts: readonly Part[],
  options: SendOptions,
): Promise<void> {
  const { contextId, taskId, referenceTaskIds, metadata, idempotencyKey, signal } = options
  const answer = await client.sendMessage(
    {
      message: {
        messageId: randomUUID(),
        role: 'ROLE_USER',
        parts,
        ...(contextId !== undefined && { contextId }),
        ...(taskId !== undefined && { taskId }),
        ...(referenceTaskIds && { referenceTaskIds }),
      },
      configuration: { returnImmediately: true },
      ...(metadata && { metadata }),
    },
    { ...(idempotencyKey !== undefined && { idempotencyKey }), ...(signal && { signal }) },
  )
  if ('message' in answer) return output.result(answer, () => output.safe(contentText(answer.message.parts)))
  const { task } = answer
  output.result(answer, () => `Task ${output.safe(task.id)} is ${stateName(task.status.state)}`)
  output.note(`Its answer: dragoman task get ${agentArgs} ${shellWord(oneLine(task.id))} --wait`)
}

async function sendAndWait(
  { client, output, agentArgs }: Target,
  parts: readonly Part[],
  options: SendOptions,
): Promise<void> {
  const { task, message } = await output.withSpinner(`${client.card.name} is working`, client.ask(parts, options))
  if (task) {
    output.result({ task }, () => output.safe(answerText(task)))
    for (const step of nextSteps(task, agentArgs, taskHasFiles(task))) output.note(step)
  } else if (message) output.result({ message }, () => output.safe(contentText(message.parts)))
}
