import { Command } from 'commander'
import { withoutSecrets } from '../../model/error-facts.js'
import { addOutputOption } from '../agent-options.js'
import { credentialFile, readCredentials } from '../credentials.js'
import { type Format, Output } from '../output.js'
import { oneLine, table } from '../printable.js'

interface Setting {
  readonly name: string
  readonly value: string
  /** The environment variable or command that set it, or `default`. */
  readonly source: string
}

export function configCommand(): Command {
  return new Command('config').description('Inspect settings that come from the environment').addCommand(
    addOutputOption(
      new Command('show').description('Print the settings that come from the environment, and their sources'),
    )
      .addHelpText(
        'after',
        `
Example:
  dragoman config show

Options of a command override these settings. Secrets are not printed.`,
      )
      .action(async ({ output: format }: { readonly output: Format }) => {
        const settings = await readSettings()
        new Output(format).result({ settings }, () =>
          table(settings.map(({ name, value, source }) => [name, value, `(${source})`].map(oneLine))),
        )
      }),
  )
}

async function readSettings(): Promise<readonly Setting[]> {
  const { DRAGOMAN_REGISTRY, NO_COLOR, FORCE_COLOR } = process.env
  const { path, source } = credentialFile()
  const origins = [...(await readCredentials()).keys()]
  return [
    { name: 'credentials', value: path, source },
    { name: 'logged in at', value: origins.join(', ') || 'none', source: 'dragoman auth login' },
    {
      name: 'registry',
      value: DRAGOMAN_REGISTRY ? withoutSecrets(DRAGOMAN_REGISTRY) : 'none',
      source: DRAGOMAN_REGISTRY ? 'DRAGOMAN_REGISTRY' : 'default',
    },
    {
      name: 'colour',
      value: NO_COLOR ? 'off' : FORCE_COLOR ? 'on' : 'on terminals',
      source: NO_COLOR ? 'NO_COLOR' : FORCE_COLOR ? 'FORCE_COLOR' : 'default',
    },
  ]
}
