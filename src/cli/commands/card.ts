import { Command } from 'commander'
import { diffCommand } from './card/diff.js'
import { getCommand } from './card/get.js'
import { validateCommand } from './card/validate.js'

export function cardCommand(): Command {
  const command = new Command('card').description('Read, check and compare what agents say about themselves')
  for (const create of [getCommand, validateCommand, diffCommand]) command.addCommand(create())
  return command
}
