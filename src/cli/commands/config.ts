import { Command } from 'commander'
import { showCommand } from './config/show.js'

export function configCommand(): Command {
  return new Command('config')
    .description('Look at what commands take from their surroundings')
    .addCommand(showCommand())
}
