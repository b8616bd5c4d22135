import { Command } from 'commander'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../agent-options.js'
import { chat } from '../chat/chat.js'
import { pipedLines, terminalLines } from '../chat/lines.js'
import { oneLine } from '../printable.js'

interface Options extends AgentOptions {
  readonly context?: string
  readonly task?: string
}

export function chatCommand(): Command {
  return addAgentOptions(
    new Command('chat')
      .description('Talk with an agent, turn by turn')
      .argument('[ref]', refHelp)
      .option('--context <id>', 'continue this context')
      .option('--task <id>', 'continue this task, whose question is open'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman chat localhost:8001
  printf 'ask\\nthe answer\\n' | dragoman chat localhost:8001

In the chat: /new begins another conversation, /task shows the last task, /cancel cancels the one that waits,
/exit or Ctrl-D leaves, /help tells more. Questions that carry a JSON Schema are shown as a form. From a pipe every
line is a turn. If the agent refuses an answer, the next line answers again; exit code 1 if none was accepted.`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      const isTerminal = process.stdin.isTTY === true
      await withAgent(ref, options, async (agent, output, named) => {
        const { name, description } = agent.card
        if (isTerminal) output.note(`${oneLine(name)}: ${oneLine(description)}\n/help tells what can be done here`)
        const lines = isTerminal ? terminalLines() : pipedLines()
        try {
          await chat({
            agent,
            named,
            output,
            lines,
            isTerminal,
            start: {
              ...(options.context !== undefined && { contextId: options.context }),
              ...(options.task !== undefined && { taskId: options.task }),
            },
            ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
            ...(isTerminal && { askForm: loadForm }),
          })
        } finally {
          lines.close()
        }
      })
    })
}

/** Loaded on use: most talks have no forms. */
const loadForm: NonNullable<Parameters<typeof chat>[0]['askForm']> = async (schema) => {
  const { askForm } = await import('../chat/ask-form.js')
  const answer = await askForm(schema)
  return answer && [{ data: answer.value, mediaType: 'application/json' }]
}
