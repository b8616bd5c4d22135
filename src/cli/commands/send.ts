import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import type { AgentClient, Part, SendOptions } from '../../client/index.js'
import type { Struct } from '../../model/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitReference, withAgent } from '../agent-options.js'
import { withDeadline } from '../deadline.js'
import { addPartOptions, readJson, readParts } from '../message-parts.js'
import type { Output } from '../output.js'
import { oneLine, shellWord } from '../printable.js'
import { StreamPrinter } from '../stream-printer.js'
import { answerText, contentText, nextSteps, stateName, taskHasFiles } from '../task-text.js'
import { UsageError } from '../usage-error.js'

interface Options extends AgentOptions {
  readonly stream?: true
  readonly async?: true
  readonly context?: string
  readonly task?: string
  readonly reference?: readonly string[]
  readonly metadata?: string
  readonly key?: string
}

/** Agents think for longer than other servers take. */
const patienceSeconds = 600

export function sendCommand(): Command {
  const command = new Command('send')
    .description('Send a message to an agent and print its answer')
    .argument('[ref]', refHelp)
    .argument('[text...]', 'what to say; - reads it from stdin')
    .option('--stream', 'print the answer while it is made; with -o json one JSON line for each event')
    .option('--async', 'do not wait for the answer: print the task')
    .option('--context <id>', 'continue this context')
    .option('--task <id>', 'continue this task: answer its question, or add to it')
    .option('--reference <id>', 'a task that the message refers to, without continuing it; may be repeated', collect)
    .option('--metadata <json>', 'metadata of the request: JSON, or @PATH of a JSON file')
    .option('--key <key>', 'idempotency key: the same key again is the same send, not another one')
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

The answer goes to stdout, everything else to stderr. A task that failed is an answer too: exit code 0.
Without --timeout an answer may take ten minutes.`,
    )
    .action(async (ref: string | undefined, text: readonly string[], options: Options) => {
      const [agent, words] = splitReference(ref === undefined ? [] : [ref, ...text], options)
      if (options.stream && options.async)
        throw new UsageError('--stream follows the task and --async does not: choose')
      const parts = await readParts(words, given)
      const say = await sayOptions(options)
      await withAgent(agent, { timeout: patienceSeconds, ...options }, async (client, output, named) => {
        const place: Place = { output, named }
        await withDeadline(options.timeout, async ({ signal }) => {
          const timed = { ...say, ...(signal && { signal }) }
          if (options.stream) await stream(client, parts, timed, place)
          else if (options.async) await sendOnly(client, parts, timed, place)
          else await sendAndWait(client, parts, timed, place)
        })
      })
    })
}

interface Place {
  readonly output: Output
  readonly named: string
}

function collect(id: string, before: readonly string[] = []): readonly string[] {
  return [...before, id]
}

async function sayOptions({ context, task, reference, metadata, key }: Options): Promise<SendOptions> {
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
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Struct // the only kind left
  throw new UsageError('--metadata: write a JSON object')
}

async function stream(client: AgentClient, parts: readonly Part[], say: SendOptions, place: Place): Promise<void> {
  await new StreamPrinter(place.output, place.named).follow(client.stream(parts, say))
}

/** One call, whatever has become of the task when it answers. */
async function sendOnly(client: AgentClient, parts: readonly Part[], say: SendOptions, place: Place): Promise<void> {
  const { contextId, taskId, referenceTaskIds, metadata, idempotencyKey, signal } = say
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
  const { output, named } = place
  if ('message' in answer) return output.result(answer, () => output.said(contentText(answer.message.parts)))
  const { task } = answer
  output.result(answer, () => `Task ${output.said(task.id)} is ${stateName(task.status.state)}`)
  output.note(`Its answer: dragoman task get ${named} ${shellWord(oneLine(task.id))} --wait`)
}

async function sendAndWait(client: AgentClient, parts: readonly Part[], say: SendOptions, place: Place): Promise<void> {
  const { output, named } = place
  const { task, message } = await output.during(`${client.card.name} is working`, client.ask(parts, say))
  if (task) {
    output.result({ task }, () => output.said(answerText(task)))
    for (const step of nextSteps(task, named, taskHasFiles(task))) output.note(step)
  } else if (message) output.result({ message }, () => output.said(contentText(message.parts)))
}
