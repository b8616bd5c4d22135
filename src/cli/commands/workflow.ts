import { Command } from 'commander'
import { graphCommand } from './workflow/graph.js'
import { listCommand } from './workflow/list.js'
import { resumeCommand } from './workflow/resume.js'
import { runCommand } from './workflow/run.js'

export function workflowCommand(): Command {
  const command = new Command('workflow').description(
    'Run workflows, look at their steps, and go on with runs that wait',
  )
  for (const create of [runCommand, graphCommand, listCommand, resumeCommand]) command.addCommand(create())
  return command
}
