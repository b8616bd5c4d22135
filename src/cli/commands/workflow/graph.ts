import { Command } from 'commander'
import { isTerminal } from '../../../client/index.js'
import { graphOf } from '../../../orchestrator/index.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../../agent-options.js'
import { oneLine } from '../../printable.js'
import { UsageError } from '../../usage-error.js'
import { graphText } from '../../workflow/graph-text.js'

export function graphCommand(): Command {
  return addAgentOptions(
    new Command('graph')
      .description('Draw the steps of a run: who does them, their states and how long they took')
      .argument('[ref]', refHelp)
      .argument('[id]', 'of the run: its task'),
  )
    .addHelpText('after', '\nExample:\n  dragoman workflow graph localhost:8000 0193… -o json')
    .action(async (first: string | undefined, second: string | undefined, options: AgentOptions) => {
      const [ref, id] = splitWords([first, second], options, ['the id of a run'])
      await withAgent(ref, options, async (agent, output) => {
        const task = await agent.task(id).get(0)
        const graph = graphOf(task)
        if (!graph) throw new UsageError(`task ${oneLine(id)} is no run of a workflow`)
        const isOver = isTerminal(task.status.state)
        output.result(graph, () => output.said(graphText(graph, { isOver, nowMs: Date.now() })))
      })
    })
}
