import { Argument, Command, type Option } from 'commander'

export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('Print a completion script for a shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  dragoman completion bash > ~/.local/share/bash-completion/completions/dragoman
  dragoman completion zsh  > "\${fpath[1]}/_dragoman"
  dragoman completion fish > ~/.config/fish/completions/dragoman.fish`,
    )
    .action((shell: (typeof shells)[number]) => {
      process.stdout.write(completionScript(program, shell))
    })
}

export const shells = ['bash', 'zsh', 'fish'] as const

interface Completed {
  /** The command, such as `task get`; empty for the program itself. */
  readonly path: string
  readonly words: readonly { readonly word: string; readonly description: string }[]
  readonly options: readonly Option[]
}

export function completionScript(program: Command, shell: (typeof shells)[number]): string {
  const all = [...completed(program, [])]
  if (shell === 'fish') return fish(all)
  return shell === 'bash' ? bash(all) : zsh(all)
}

function* completed(command: Command, path: readonly string[]): Generator<Completed> {
  yield {
    path: path.join(' '),
    words: [
      ...command.commands.map((each) => ({ word: each.name(), description: each.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((word) => ({ word, description })),
      ),
    ],
    options: [...command.options, ...helpOption(command)].filter(({ hidden }) => !hidden),
  }
  for (const each of command.commands) yield* completed(each, [...path, each.name()])
}

function helpOption(command: Command): readonly Option[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long === '--help')
}

const names = ({ short, long }: Option) => [short, long].filter((name) => name !== undefined)

/** Options with a list of choices; values of other options are completed with file names. */
function valueChoices(all: readonly Completed[]): ReadonlyMap<string, readonly string[]> {
  const choices = new Map<string, readonly string[]>()
  for (const { options } of all)
    for (const option of options)
      if (option.argChoices) for (const name of names(option)) choices.set(name, option.argChoices)
  return choices
}

/** Options that take a value: the word after them is not a command. */
function optionsWithValue(all: readonly Completed[]): string {
  const found = all.flatMap(({ options }) => options.filter(({ required, optional }) => required || optional))
  return [...new Set(found.flatMap(names))].join('|')
}

function bash(all: readonly Completed[]): string {
  const lists = all.map(
    ({ path, words, options }) =>
      `    ${quoted(path)}) words=${quoted([...words.map(({ word }) => word), ...options.flatMap(names)].join(' '))} ;;`,
  )
  return `# bash completion for dragoman
_dragoman() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' word i
  case $previous in
${bashChoices(all)}
    ${optionsWithValue(all)}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i-1]} in ${optionsWithValue(all)}) continue ;; esac
    word=\${COMP_WORDS[i]}
    case "$path $word" in
      ${paths(all)}) path="\${path:+$path }$word" ;;
    esac
  done
  case $path in
${lists.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _dragoman dragoman
`
}

function bashChoices(all: readonly Completed[]): string {
  return [...valueChoices(all)]
    .map(
      ([name, choices]) =>
        `    ${name}) COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$current")); return ;;`,
    )
    .join('\n')
}

/** Shell patterns that match a command and its subcommand. */
function paths(all: readonly Completed[]): string {
  const found = all.flatMap(({ path, words }) => words.map(({ word }) => `"${path} ${word}"`))
  return found.join('|')
}

function zsh(all: readonly Completed[]): string {
  const cases = all.map(({ path, words, options }) => {
    const described = [
      ...words.map(({ word, description }) => `${colons(word)}:${colons(description)}`),
      ...options.flatMap((option) => names(option).map((name) => `${colons(name)}:${colons(option.description)}`)),
    ]
    return `    ${quoted(path)}) offered=(${described.map(quoted).join(' ')}) ;;`
  })
  const choices = [...valueChoices(all)].map(
    ([name, values]) => `    ${name}) compadd -- ${values.map(quoted).join(' ')}; return ;;`,
  )
  return `#compdef dragoman
_dragoman() {
  local previous=\${words[CURRENT-1]} trail='' word before=''
  local -a offered
  case $previous in
${choices.join('\n')}
    ${optionsWithValue(all)}) _files; return ;;
  esac
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case $before in
      ${optionsWithValue(all)}) ;;
      *) case "$trail $word" in
        ${paths(all)}) trail="\${trail:+$trail }$word" ;;
      esac ;;
    esac
    before=$word
  done
  case $trail in
${cases.join('\n')}
  esac
  _describe 'dragoman' offered
}
if [ "$funcstack[1]" = "_dragoman" ]; then _dragoman "$@"; else compdef _dragoman dragoman; fi
`
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap(({ path, words, options }) => {
    const condition = `-n ${quoted(`__dragoman_at ${quotedForFish(path)}`)}`
    return [
      ...words.map(
        ({ word, description }) => `complete -c dragoman -f ${condition} -a ${word} -d ${quoted(description)}`,
      ),
      ...options.map((option) => fishOption(option, condition)),
    ]
  })
  const known = all.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `# fish completion for dragoman
function __dragoman_at
    set -l path ''
    set -l before ''
    for word in (commandline -opc)[2..]
        set -l longer (string trim -- "$path $word")
        if not contains -- $before ${optionsWithValue(all).replaceAll('|', ' ')}; and contains -- $longer ${known.join(' ')}
            set path $longer
        end
        set before $word
    end
    test "$path" = "$argv[1]"
end
${lines.join('\n')}
`
}

function fishOption({ short, long, description, required, argChoices }: Option, condition: string): string {
  const spelled = [short && `-s ${short.slice(1)}`, long && `-l ${long.slice(2)}`].filter(Boolean).join(' ')
  const values = argChoices ? ` -x -a ${quoted(argChoices.join(' '))}` : required ? ' -r' : ''
  return `complete -c dragoman ${condition} ${spelled}${values} -d ${quoted(description)}`
}

function quotedForFish(path: string): string {
  return `"${path}"`
}

function colons(text: string): string {
  return text.replaceAll(':', '\\:')
}

/** Single quotes work in all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
