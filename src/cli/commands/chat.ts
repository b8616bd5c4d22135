import { Command } from 'commander'
import { type Field, type FieldAnswer, fieldsOf, formAnswer, type MessageInput, readField } from '../../client/index.js'
import type { JsonValue, Struct } from '../../model/index.js'
import { type AgentOptions, addAgentOptions, agentHelp, requireArguments, withAgent } from '../agent-options.js'
import { chat, pipedLines, terminalLines } from '../chat-session.js'
import { oneLine } from '../printable.js'

interface Options extends AgentOptions {
  readonly context?: string
  readonly task?: string
}

export function chatCommand(): Command {
  return addAgentOptions(
    new Command('chat')
      .description('Chat with an agent on a terminal, or send it the lines of a pipe')
      .argument('[agent]', agentHelp)
      .option('--context <id>', 'continue this context')
      .option('--task <id>', 'continue this task, which waits for an answer'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman chat localhost:8001
  printf 'ask\\nthe answer\\n' | dragoman chat localhost:8001

In the chat: /new starts another conversation, /task prints the last task, /cancel cancels the task that waits for an
answer, /exit or Ctrl-D leaves, /help lists these commands. Questions with a JSON Schema are shown as a form. From a pipe,
each line is one message. If the agent rejects an answer, the next line answers again; the exit code is 1 if it accepts
none.`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = requireArguments([first], options, [])
      const isTerminal = process.stdin.isTTY === true
      await withAgent(ref, options, async (agent, output, agentArgs) => {
        const { name, description } = agent.card
        if (isTerminal) output.note(`${oneLine(name)}: ${oneLine(description)}\n/help lists the commands`)
        const lines = isTerminal ? terminalLines() : pipedLines()
        try {
          await chat({
            agent,
            agentArgs,
            output,
            lines,
            isTerminal,
            start: {
              ...(options.context !== undefined && { contextId: options.context }),
              ...(options.task !== undefined && { taskId: options.task }),
            },
            ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
            ...(isTerminal && { askForm }),
          })
        } finally {
          lines.close()
        }
      })
    })
}

type Prompts = typeof import('@clack/prompts')

/** Asks for the fields of a form one by one; returns undefined if the user cancels. */
async function askForm(schema: Struct): Promise<MessageInput | undefined> {
  const prompts = await import('@clack/prompts')
  const fields = fieldsOf(schema)
  const values = new Map<string, JsonValue>()
  for (const field of fields) {
    const answer = await askField(field, prompts)
    if (answer === undefined) return undefined
    if ('value' in answer && answer.value !== undefined) values.set(field.name, answer.value)
  }
  return [{ data: formAnswer(fields, values), mediaType: 'application/json' }]
}

async function askField(field: Field, prompts: Prompts): Promise<FieldAnswer | undefined> {
  const { confirm, isCancel, text } = prompts
  const message = messageOf(field)
  const output = process.stderr
  if (field.kind === 'boolean') {
    const answer = await confirm({ message, output, initialValue: field.initial === true })
    return isCancel(answer) ? undefined : { value: answer }
  }
  if (field.kind === 'choice' || field.kind === 'choices') return await askChoice(field, message, prompts)
  const answer = await text({
    message,
    output,
    ...(field.initial !== undefined && { initialValue: textOf(field.initial) }),
    ...(field.kind === 'list' && { placeholder: 'one or more, separated by commas' }),
    ...(field.kind === 'json' && { placeholder: 'JSON' }),
    validate: (typed) => {
      const read = readField(field, typed ?? '')
      return 'problem' in read ? read.problem : undefined
    },
  })
  return isCancel(answer) ? undefined : readField(field, answer ?? '')
}

/** Selects by index, because a choice may be any JSON value. */
async function askChoice(field: Field, message: string, prompts: Prompts): Promise<FieldAnswer | undefined> {
  const { isCancel, multiselect, select } = prompts
  const { choices, isRequired } = field
  const output = process.stderr
  const options = choices.map((choice, value) => ({ value, label: oneLine(textOf(choice)) }))
  if (field.kind === 'choices') {
    const picked = await multiselect<number>({ message, output, options, required: isRequired })
    return isCancel(picked) ? undefined : { value: picked.flatMap((index) => choices[index] ?? []) }
  }
  const none = { value: -1, label: '(none)' }
  const initialValue = field.initial === undefined ? -1 : choices.indexOf(field.initial)
  const picked = await select<number>({
    message,
    output,
    options: isRequired ? options : [...options, none],
    ...(initialValue >= 0 && { initialValue }),
  })
  return isCancel(picked) ? undefined : { value: choices[picked] }
}

function messageOf({ title, description, isRequired }: Field): string {
  const name = oneLine(title) || 'Answer'
  return `${name}${isRequired ? '' : ' (optional)'}${description ? `: ${oneLine(description)}` : ''}`
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
