import { Command } from 'commander'
import { generateCommand } from './keys/generate.js'

export function keysCommand(): Command {
  return new Command('keys').description('Make keys that sign cards and deliveries').addCommand(generateCommand())
}
