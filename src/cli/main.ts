import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { serveCommand } from './commands/serve.js'
import { UsageError } from './usage-error.js'

/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage. */
export async function run(argv: readonly string[]): Promise<void> {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const program = new Command('dragoman')
    .description('The stack for the Agent2Agent (A2A) protocol')
    .version(version)
    .showHelpAfterError('(dragoman --help lists the commands)')
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 wrong usage')
    .exitOverride()
  program.addCommand(serveCommand().copyInheritedSettings(program))
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    if (error instanceof CommanderError) return // commander has said it
    console.error(`dragoman: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  return error instanceof UsageError ? 2 : 1
}
