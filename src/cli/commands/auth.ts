import { Command } from 'commander'
import { loginCommand } from './auth/login.js'
import { logoutCommand } from './auth/logout.js'
import { statusCommand } from './auth/status.js'

export function authCommand(): Command {
  const command = new Command('auth').description('Keep credentials for agents, each for its own origin')
  for (const create of [loginCommand, logoutCommand, statusCommand]) command.addCommand(create())
  return command
}
