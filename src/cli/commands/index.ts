import type { Command } from 'commander'

type CreateCommand = (program: Command) => Command

/** Loaders of the commands by name, in the order of the help. Loading all of them would take longer than most commands. */
const loaders: Readonly<Record<string, () => Promise<CreateCommand>>> = {
  send: async () => (await import('./send.js')).sendCommand,
  chat: async () => (await import('./chat.js')).chatCommand,
  card: async () => (await import('./card.js')).cardCommand,
  task: async () => (await import('./task.js')).taskCommand,
  workflow: async () => (await import('./workflow.js')).workflowCommand,
  push: async () => (await import('./push.js')).pushCommand,
  auth: async () => (await import('./auth.js')).authCommand,
  config: async () => (await import('./config.js')).configCommand,
  init: async () => (await import('./init.js')).initCommand,
  mcp: async () => (await import('./mcp.js')).mcpCommand,
  serve: async () => (await import('./serve.js')).serveCommand,
  registry: async () => (await import('./registry.js')).registryCommand,
  console: async () => (await import('./console.js')).consoleCommand,
  keys: async () => (await import('./keys.js')).keysCommand,
  doctor: async () => (await import('./doctor.js')).doctorCommand,
  bench: async () => (await import('./bench.js')).benchCommand,
  completion: async () => (await import('./completion.js')).completionCommand,
}

/** Loads the named command, or all of them if the name is unknown or the command needs the others; none for the version. */
export async function loadCommands(name: string | undefined): Promise<readonly CreateCommand[]> {
  if (name === '--version' || name === '-V') return []
  const only = name !== undefined && name !== 'completion' && Object.hasOwn(loaders, name) ? loaders[name] : undefined
  return await Promise.all((only === undefined ? Object.values(loaders) : [only]).map((load) => load()))
}
