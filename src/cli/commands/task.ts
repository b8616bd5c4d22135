import { Command } from 'commander'
import { cancelCommand } from './task/cancel.js'
import { downloadCommand } from './task/download.js'
import { getCommand } from './task/get.js'
import { listCommand } from './task/list.js'
import { subscribeCommand } from './task/subscribe.js'

export function taskCommand(): Command {
  const command = new Command('task').description('Look at the tasks of an agent, follow, cancel and download them')
  for (const create of [getCommand, listCommand, cancelCommand, subscribeCommand, downloadCommand])
    command.addCommand(create())
  return command
}
