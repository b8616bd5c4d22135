import type { Command } from 'commander'
import { authCommand } from './auth.js'
import { benchCommand } from './bench.js'
import { cardCommand } from './card.js'
import { chatCommand } from './chat.js'
import { completionCommand } from './completion.js'
import { configCommand } from './config.js'
import { consoleCommand } from './console.js'
import { doctorCommand } from './doctor.js'
import { initCommand } from './init.js'
import { keysCommand } from './keys.js'
import { pushCommand } from './push.js'
import { registryCommand } from './registry.js'
import { sendCommand } from './send.js'
import { serveCommand } from './serve.js'
import { taskCommand } from './task.js'
import { workflowCommand } from './workflow.js'

/** Every verb, in the order that help lists them. */
export const commands: readonly ((program: Command) => Command)[] = [
  sendCommand,
  chatCommand,
  cardCommand,
  taskCommand,
  workflowCommand,
  pushCommand,
  authCommand,
  configCommand,
  initCommand,
  serveCommand,
  registryCommand,
  consoleCommand,
  keysCommand,
  doctorCommand,
  benchCommand,
  completionCommand,
]
