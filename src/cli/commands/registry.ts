import { Command } from 'commander'
import { listCommand } from './registry/list.js'
import { publishCommand } from './registry/publish.js'
import { searchCommand } from './registry/search.js'
import { serveCommand } from './registry/serve.js'
import { watchCommand } from './registry/watch.js'
import { withdrawCommand } from './registry/withdraw.js'

export function registryCommand(): Command {
  const command = new Command('registry').description('Run a registry of agents, look into one, publish to one')
  const verbs = [serveCommand, listCommand, searchCommand, publishCommand, withdrawCommand, watchCommand]
  for (const create of verbs) command.addCommand(create())
  return command
}
