import { Argument, Command } from 'commander'
import { completionScript, shells } from '../completion-script.js'

export function completionCommand(program: Command): Command {
  return new Command('completion')
    .description('Print a script that completes dragoman commands in a shell')
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
