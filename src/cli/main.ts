import { Command, CommanderError } from 'commander'
import { version } from '../model/user-agent.js'
import { loadCommands } from './commands/index.js'
import { failureOf } from './failure.js'
import { type Format, Output } from './output.js'

/** Runs the command line. The exit codes are part of the public API. */
export async function run(argv: readonly string[]): Promise<void> {
  exitOnClosedPipe()
  const format = formatIn(argv)
  const program = await createProgram(format, argv[2])
  try {
    await program.parseAsync(argv)
  } catch (error) {
    // Commander has printed usage errors in the text format already.
    const isPrinted = error instanceof CommanderError && (format === 'text' || error.exitCode === 0)
    if (isPrinted) process.exitCode = error.exitCode === 0 ? 0 : failureOf(error).exitCode
    else process.exitCode = new Output(format).failure(error)
    // Ends the process although an imported module may have started something, after stderr was written.
    process.stderr.write('', () => process.exit())
  }
}

/** Creates the program with the command `name`; with all commands if the name is missing or unknown. */
export async function createProgram(format: Format, name?: string): Promise<Command> {
  const program = new Command('dragoman')
    .description('Call, serve, inspect and test agents of the Agent2Agent (A2A) protocol')
    .version(version)
    .showHelpAfterError('(dragoman --help lists the commands)')
    .addHelpText(
      'after',
      `
Examples:
  dragoman serve --echo                serve an agent for tests, until Ctrl-C
  dragoman send localhost:8001 hello   call it from another terminal; also try chat, doctor and card get
  dragoman init my-agent               create a project for your own agent

` + 'Exit codes: 0 success (also if a task failed), 1 error, 2 usage, 3 unreachable, 4 authentication, 5 timeout',
    )
    .exitOverride()
  if (format === 'json') program.configureOutput({ writeErr: () => {}, outputError: () => {} })
  for (const create of await loadCommands(name)) program.addCommand(create(program))
  inherit(program, 'dragoman')
  return program
}

/** Commander does not pass settings on to commands that are added with `addCommand`. */
function inherit(parent: Command, path: string): void {
  for (const child of parent.commands) {
    const childPath = `${path} ${child.name()}`
    const listed = child.commands.length > 0 ? 'commands' : 'options'
    child.copyInheritedSettings(parent).showHelpAfterError(`(${childPath} --help lists the ${listed})`)
    inherit(child, childPath)
  }
}

/** A reader such as `head` may close the pipe early; that is not an error. */
function exitOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Finds the output format before the command line is parsed: usage errors use it too. */
function formatIn(argv: readonly string[]): Format {
  const isJson = argv.some(
    (word, index) =>
      /^(--output=json|-ojson)$/.test(word) || (/^(-o|--output)$/.test(word) && argv[index + 1] === 'json'),
  )
  return isJson ? 'json' : 'text'
}
