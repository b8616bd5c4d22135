import { Command, CommanderError } from 'commander'
import { version } from '../model/user-agent.js'
import { loadCommands } from './commands/index.js'
import { failureOf } from './failure.js'
import { type Format, Output } from './output.js'

/** The command line. The exit codes are part of what is promised. */
export async function run(argv: readonly string[]): Promise<void> {
  leaveQuietlyWithTheReader()
  const format = formatIn(argv)
  const program = await createProgram(format, argv[2])
  try {
    await program.parseAsync(argv)
  } catch (error) {
    // Commander has told people what was wrong with the words.
    const isTold = error instanceof CommanderError && (format === 'text' || error.exitCode === 0)
    if (isTold) process.exitCode = error.exitCode === 0 ? 0 : failureOf(error).exitCode
    else process.exitCode = new Output(format).failure(error)
    // A module that was looked at may have left something running; what was said has to get out first.
    process.stderr.write('', () => process.exit())
  }
}

/** Creates the program with the command `name`; with all commands if the name is missing or unknown. */
export async function createProgram(format: Format, name?: string): Promise<Command> {
  const program = new Command('dragoman')
    .description('The stack for the Agent2Agent (A2A) protocol')
    .version(version)
    .showHelpAfterError('(dragoman --help lists the commands)')
    .addHelpText(
      'after',
      `
Begin with:
  dragoman serve --echo                an agent to try things on, until Ctrl-C
  dragoman send localhost:8001 hello   in another terminal; chat, doctor and card get likewise
  dragoman init my-agent               an agent of your own

` +
        'Exit codes: 0 done (a task that failed is an answer), 1 error, 2 usage, 3 unreachable, 4 authentication, 5 timeout',
    )
    .exitOverride()
  if (format === 'json') program.configureOutput({ writeErr: () => {}, outputError: () => {} })
  for (const create of await loadCommands(name)) program.addCommand(create(program))
  inherit(program, 'dragoman')
  return program
}

function inherit(parent: Command, path: string): void {
  for (const child of parent.commands) {
    const childPath = `${path} ${child.name()}`
    const listed = child.commands.length > 0 ? 'commands' : 'options'
    child.copyInheritedSettings(parent).showHelpAfterError(`(${childPath} --help lists the ${listed})`)
    inherit(child, childPath)
  }
}

/** `dragoman … | head` has seen enough: that is no failure. */
function leaveQuietlyWithTheReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Errors are told in the format that was asked for, however far the words were understood. */
function formatIn(argv: readonly string[]): Format {
  const isJson = argv.some(
    (word, place) =>
      /^(--output=json|-ojson)$/.test(word) || (/^(-o|--output)$/.test(word) && argv[place + 1] === 'json'),
  )
  return isJson ? 'json' : 'text'
}
